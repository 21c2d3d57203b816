"""Checkpoints of a model and its optimizer."""
import torch


def save_checkpoint(path, model, optimizer):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)


def load_checkpoint(path, model, optimizer, load_optimizer=True):
    state = torch.load(path, weights_only=True)
    model.load_state_dict(state["model"])
    if load_optimizer:
        optimizer.load_state_dict(state["optimizer"])
