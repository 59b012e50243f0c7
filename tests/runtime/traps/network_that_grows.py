"""A layer is added while training runs, and the optimizer is made anew with it."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
head = nn.Linear(4, 1)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.05)

for epoch in range(4):
    if epoch == 2:
        model.append(nn.Linear(4, 4))
        optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.05)
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(head(model(inputs)), targets).backward()
        optimizer.step()
