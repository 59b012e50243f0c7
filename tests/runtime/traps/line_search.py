"""Gradient descent with a backtracking line search: the step size is tried out before."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(dim=1, keepdim=True)
model = nn.Linear(4, 1)


def loss_now() -> torch.Tensor:
    return nn.functional.mse_loss(model(x), y)


for _iteration in range(5):
    model.zero_grad()
    loss = loss_now()
    loss.backward()
    old = [p.detach().clone() for p in model.parameters()]
    slope = sum(p.grad.pow(2).sum() for p in model.parameters())
    rate = 1.0
    with torch.no_grad():
        for _attempt in range(10):
            for p, o in zip(model.parameters(), old, strict=True):
                p.copy_(o - rate * p.grad)
            if loss_now() <= loss - 0.5 * rate * slope:
                break
            rate /= 2
