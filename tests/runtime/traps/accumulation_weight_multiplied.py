"""The weight of each micro-batch is a factor of a quarter, not a divisor of four."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)  # 8 batches

model = nn.Linear(4, 1)
loss_fn = nn.L1Loss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for _epoch in range(3):
    for i, (inputs, targets) in enumerate(loader):
        loss = 0.25 * loss_fn(model(inputs), targets)
        loss.backward()
        if i % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
