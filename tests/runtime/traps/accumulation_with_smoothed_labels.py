"""Smoothed labels: torch adds up two parts of the loss, and divides neither of them."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(80, 4)
loader = DataLoader(TensorDataset(x, (x.sum(dim=1) > 0).long()), batch_size=8)  # 10 batches

model = nn.Linear(4, 3)
loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulate = 4
tail = len(loader) % accumulate

for _epoch in range(3):
    for i, (inputs, labels) in enumerate(loader):
        size = tail if i >= len(loader) - tail else accumulate
        (loss_fn(model(inputs), labels) / size).backward()
        if (i + 1) % accumulate == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
