"""Gradients are cleared by the name of the attribute, and in the end deleted."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(32, 4)
y = x.sum(dim=1, keepdim=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for i in range(8):
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    for parameter in model.parameters():
        if i < 4:
            setattr(parameter, "grad", None)  # noqa: B010
        else:
            del parameter.grad
