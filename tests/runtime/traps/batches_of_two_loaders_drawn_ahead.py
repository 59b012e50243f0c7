"""A batch of each of two loaders is one update: what they teach adds up by design."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)

model = nn.Linear(4, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
noisy = DataLoader(TensorDataset(x + 0.1 * torch.randn_like(x), x.sum(1, keepdim=True)), 8)

for _epoch in range(3):
    for pair in list(zip(loader, noisy, strict=True)):
        for inputs, targets in pair:
            loss = loss_fn(model(inputs), targets)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
