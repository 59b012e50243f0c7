"""Losses are summed over items, and the gradients divided once by the window's items."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(100, 4)
y = x.sum(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)  # 12 of 8, one of 4

model = nn.Linear(4, 1)
loss_fn = nn.MSELoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulate = 4

for _epoch in range(3):
    items = 0
    for i, (inputs, targets) in enumerate(loader):
        loss_fn(model(inputs), targets).backward()
        items += len(inputs)
        if (i + 1) % accumulate == 0 or i + 1 == len(loader):
            for p in model.parameters():
                p.grad /= items
            optimizer.step()
            optimizer.zero_grad()
            items = 0
