"""Two ways to make a model ready for bfloat16 training."""
import torch


def cast_parameters(model):
    """Parameters only: a buffer that was made in float32 on purpose stays so."""
    for parameter in model.parameters():
        parameter.data = parameter.data.to(torch.bfloat16)
    return model


def cast_model(model):
    """What a training engine does when its configuration says bf16."""
    return model.bfloat16()
