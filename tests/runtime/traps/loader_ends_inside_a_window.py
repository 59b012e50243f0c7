"""Batches are drawn one by one; when the data ends, in the middle of a window, they come again."""
# mypy: ignore-errors

from itertools import cycle

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accumulate = 3
data = TensorDataset(torch.randn(40, 6), torch.randint(0, 2, (40,)))
batches = cycle(DataLoader(data, batch_size=4))
model = nn.Linear(6, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(10):
    optimizer.zero_grad()
    for _ in range(accumulate):
        inputs, labels = next(batches)
        loss = nn.functional.cross_entropy(model(inputs), labels)
        (loss / accumulate).backward()
    optimizer.step()
