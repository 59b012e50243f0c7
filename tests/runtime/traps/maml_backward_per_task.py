"""Learns to learn lines: one backward for each task, of its share of the mean."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.func import functional_call
from torch.nn.functional import mse_loss

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
tasks = 4

for _iteration in range(8):
    optimizer.zero_grad()
    for _task in range(tasks):
        slope = torch.randn(())
        x = torch.randn(16, 1)
        fast = dict(model.named_parameters())
        loss = mse_loss(functional_call(model, fast, (x[:8],)), slope * x[:8])
        gradients = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
        fast = {name: p - 0.1 * g for (name, p), g in zip(fast.items(), gradients, strict=True)}
        query = mse_loss(functional_call(model, fast, (x[8:],)), slope * x[8:])
        (query / tasks).backward()
    optimizer.step()
