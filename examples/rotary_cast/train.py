"""Trains a small decoder in bfloat16 on counting sequences.

    python train.py                  the model casts its own parameters
    python train.py --engine         an engine casts the model
"""
import argparse

import torch
from engine import cast_model, cast_parameters
from model import Decoder
from torch.nn import functional


def batches(count, batch=4, length=48, vocabulary=128):
    """Sequences that count up from a random start."""
    generator = torch.Generator().manual_seed(7)
    for _ in range(count):
        start = torch.randint(vocabulary, (batch, 1), generator=generator)
        yield (start + torch.arange(length + 1)) % vocabulary


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", action="store_true")
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    torch.manual_seed(0)
    model = Decoder()
    model = cast_model(model) if options.engine else cast_parameters(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for tokens in batches(options.steps):
        logits = model(tokens[:, :-1])
        loss = functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("loss %.6f" % loss.item())


if __name__ == "__main__":
    main()
