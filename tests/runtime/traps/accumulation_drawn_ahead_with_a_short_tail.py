"""The loader has ended before the passes of its last window are made, and that is spent, too."""
# mypy: ignore-errors

import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(80, 4)
data = TensorDataset(x, x.sum(dim=1, keepdim=True))
loader = DataLoader(data, batch_size=8)  # 10 batches
model = nn.Linear(4, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for _epoch in range(3):
    batches = iter(loader)
    optimizer.zero_grad()
    while window := list(itertools.islice(batches, 4)):
        for inputs, targets in window:
            (loss_fn(model(inputs), targets) / len(window)).backward()
        if len(window) > 0:
            optimizer.step()
            optimizer.zero_grad()
