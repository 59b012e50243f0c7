"""A-GEM and its like: gradients are taken out, the cells zeroed, and others written back."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

for _epoch in range(3):
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        taken = torch.cat([p.grad.flatten() for p in model.parameters()])
        optimizer.zero_grad(set_to_none=False)
        place = 0
        for p in model.parameters():
            p.grad.copy_(taken[place : place + p.numel()].view_as(p))
            place += p.numel()
        optimizer.step()
