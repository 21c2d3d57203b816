"""A small GPT with what training scripts do to the autograd graph: gradient accumulation, activation
checkpointing, an in-place op, a custom autograd Function and a frozen module.

    python small_gpt.py [--learning-rate LR]
"""
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 0.5

    @staticmethod
    def backward(ctx, g):
        return g * 0.5


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(0.1)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(),
                                 nn.Linear(2 * width, width))

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).split(x.shape[-1], dim=-1)
        y = torch.softmax(q @ k.transpose(-1, -2) / 4, dim=-1) @ v
        x = x + self.drop(self.out(y))
        return Scale.apply(x + self.mlp(x).mul_(1.5))


class GPT(nn.Module):
    def __init__(self, width=16, vocabulary=32):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.frozen = nn.Linear(width, width).requires_grad_(False)
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.frozen(self.tokens(tokens))
        x = self.blocks[0](x)
        x = checkpoint(self.blocks[1], x, use_reentrant=False)
        return self.head(x)


def main():
    learning_rate = float(sys.argv[2]) if len(sys.argv) > 2 else 1e-2
    torch.manual_seed(11)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, foreach=True)
    for _ in range(2):
        for _ in range(2):
            tokens = torch.randint(32, (2, 9))
            logits = model(tokens[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            (loss / 2).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        optimizer.zero_grad()
    print(loss.item().hex())


if __name__ == "__main__":
    main()
