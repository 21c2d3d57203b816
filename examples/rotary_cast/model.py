"""A small decoder with rotary position embeddings, in the shape most language models have."""
import torch
from torch import nn
from torch.nn import functional


class RotaryEmbedding(nn.Module):
    """Cosines and sines of position x frequency, computed in float32."""

    def __init__(self, head_width, base=10000.0):
        super().__init__()
        exponents = torch.arange(0, head_width, 2, dtype=torch.float32) / head_width
        self.register_buffer("inv_freq", 1.0 / base**exponents, persistent=False)

    def forward(self, positions, dtype):
        angles = torch.outer(positions.float(), self.inv_freq.float())
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x, cos, sin):
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-right, left), dim=-1) * sin


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x, cos, sin):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).split(width, dim=-1))
        y = functional.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v,
                                                    is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(),
                                 nn.Linear(4 * width, width))

    def forward(self, x, cos, sin):
        x = x + self.attention(self.norm1(x), cos, sin)
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self, vocabulary=128, width=64, heads=4, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.rotary = RotaryEmbedding(width // heads)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        cos, sin = self.rotary(torch.arange(tokens.shape[1]), x.dtype)
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.head(self.norm(x))
