"""The data is drawn once and gone through again and again, shuffled: each pass is of another."""
# mypy: ignore-errors

import random

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)

model = nn.Linear(4, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
random.seed(0)
batches = [{"inputs": inputs, "targets": targets} for inputs, targets in loader]

for _epoch in range(3):
    random.shuffle(batches)
    for i, batch in enumerate(batches):
        loss = loss_fn(model(batch["inputs"]), batch["targets"]) / 4
        loss.backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
