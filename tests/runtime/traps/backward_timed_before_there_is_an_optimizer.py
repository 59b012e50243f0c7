"""One pass is timed, or warms the machine up, before anybody has been asked to train."""
# mypy: ignore-errors

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 4)
y = (x[:, 0] > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)

model = nn.Linear(4, 2)
loss_fn = nn.CrossEntropyLoss()

started = time.perf_counter()
loss_fn(model(x[:8]), y[:8]).backward()
took = time.perf_counter() - started

optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _epoch in range(2):
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss_fn(model(inputs), labels).backward()
        optimizer.step()
