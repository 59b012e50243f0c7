"""Evaluation every third batch, inside the windows of four, with another loader."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 4)
y = x.sum(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(x[:64], y[:64]), batch_size=8, shuffle=True)  # 8 batches
held_out = DataLoader(TensorDataset(x[64:], y[64:]), batch_size=16)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulate = 4


def validate() -> float:
    model.eval()
    with torch.no_grad():
        losses = [nn.functional.mse_loss(model(a), b).item() for a, b in held_out]
    model.train()
    return sum(losses) / len(losses)


for _epoch in range(3):
    for i, (inputs, targets) in enumerate(loader):
        (nn.functional.mse_loss(model(inputs), targets) / accumulate).backward()
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
        if i % 3 == 2:
            validate()
