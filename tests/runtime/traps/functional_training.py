"""torch.func computes the gradients; parameters are plain values that are passed on."""
# mypy: ignore-errors

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(dim=1, keepdim=True)
model = nn.Linear(4, 1)
parameters = {name: p.detach() for name, p in model.named_parameters()}


def loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
    return nn.functional.mse_loss(functional_call(model, parameters, (x,)), y)


for _epoch in range(3):
    for inputs, targets in zip(x.split(8), y.split(8), strict=True):
        gradients = grad(loss)(parameters, inputs, targets)
        parameters = {name: p - 0.05 * gradients[name] for name, p in parameters.items()}
