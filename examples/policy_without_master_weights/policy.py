"""The policy network and the float32 copy of its weights that mixed precision trains."""
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self, observation=12, width=64, action=3):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(observation, width), nn.LayerNorm(width), nn.SiLU(),
                                   nn.Linear(width, width), nn.SiLU())
        self.action_head = nn.Linear(width, action)

    def forward(self, observations):
        return self.action_head(self.trunk(observations))


class MasterWeights:
    """Float32 copies of a model's parameters, for the optimizer to work on."""

    def __init__(self, model):
        self.model_parameters = list(model.parameters())
        self.parameters = [nn.Parameter(p.detach().float()) for p in self.model_parameters]

    def take_gradients(self):
        for ours, models in zip(self.parameters, self.model_parameters):
            ours.grad = models.grad.float()

    @torch.no_grad()
    def give_weights(self):
        for ours, models in zip(self.parameters, self.model_parameters):
            models.copy_(ours)
