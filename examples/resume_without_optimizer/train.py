"""Trains a small network, is interrupted, and resumes from its checkpoint.

    python train.py                  the checkpoint's optimizer state is loaded
    python train.py --no-load-optim  it is not
"""
import argparse
import os
import tempfile

import torch
from checkpoint import load_checkpoint, save_checkpoint
from torch import nn


def build():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 32), nn.GELU(),
                          nn.Linear(32, 4))
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False)


def train(model, optimizer, first, last):
    """Steps `first` to `last`, each on a batch that only its number decides."""
    for step in range(first, last + 1):
        generator = torch.Generator().manual_seed(step)
        x = torch.randn(8, 16, generator=generator)
        y = torch.randint(4, (8,), generator=generator)
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("step %d: loss %.6f" % (step, loss.item()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-load-optim", action="store_true")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--interrupted-after", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pt")
        model, optimizer = build()
        train(model, optimizer, 1, options.interrupted_after)
        save_checkpoint(path, model, optimizer)
        model, optimizer = build()
        load_checkpoint(path, model, optimizer, load_optimizer=not options.no_load_optim)
        train(model, optimizer, options.interrupted_after + 1, options.steps)


if __name__ == "__main__":
    main()
