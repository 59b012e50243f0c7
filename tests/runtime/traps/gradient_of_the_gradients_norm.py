"""SGD by hand on a loss and the norm of its gradient, which has a graph of its own."""
# mypy: ignore-errors

import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore", message="Using backward.. with create_graph")
torch.manual_seed(0)
x = torch.randn(32, 4)
y = x.sum(dim=1, keepdim=True)
model = nn.Linear(4, 1)

for _ in range(6):
    nn.functional.mse_loss(model(x), y).backward(create_graph=True)
    norm = sum(p.grad.square().sum() for p in model.parameters())
    second = torch.autograd.grad(norm, list(model.parameters()))
    with torch.no_grad():
        for p, gradient in zip(model.parameters(), second, strict=True):
            p -= 0.01 * (p.grad + 0.1 * gradient)
    for p in model.parameters():
        p.grad = None
