"""Fine-tunes a small policy in bfloat16: actions from observations, by behaviour cloning.

    python train.py                       float32 master weights, as mixed precision has them
    python train.py --no-master-weights   the optimizer works on the bfloat16 weights
"""
import argparse

import torch
from policy import MasterWeights, Policy
from torch.nn import functional


def demonstrations(count, batch=16):
    """Observations and the actions of an expert, a fixed linear map."""
    generator = torch.Generator().manual_seed(3)
    expert = torch.randn(12, 3, generator=generator)
    for _ in range(count):
        observations = torch.randn(batch, 12, generator=generator)
        yield observations, observations @ expert


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-master-weights", action="store_true")
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    torch.manual_seed(0)
    policy = Policy().to(torch.bfloat16)
    master = None if options.no_master_weights else MasterWeights(policy)
    parameters = list(policy.parameters()) if master is None else master.parameters
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, weight_decay=0.01, foreach=False)
    for observations, actions in demonstrations(options.steps):
        predicted = policy(observations.to(torch.bfloat16))
        loss = functional.mse_loss(predicted.float(), actions)
        loss.backward()
        if master is not None:
            master.take_gradients()
        optimizer.step()
        if master is not None:
            master.give_weights()
        policy.zero_grad()
        print("loss %.6f" % loss.item())


if __name__ == "__main__":
    main()
