"""Unequal micro-batches, each weighed by its share of the window's items."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.nn.functional import mse_loss

torch.manual_seed(0)
x = torch.randn(80, 4)
y = x.sum(dim=1, keepdim=True)
sizes = [9, 3, 5, 3]  # the items of a window come in unequal parts

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for _epoch in range(3):
    for inputs, targets in zip(x.split(20), y.split(20), strict=True):
        for part, wanted in zip(inputs.split(sizes), targets.split(sizes), strict=True):
            loss = mse_loss(model(part), wanted)
            (loss * (len(part) / len(inputs))).backward()
        optimizer.step()
        optimizer.zero_grad()
