"""Odd epochs train one half, even epochs the other; the half at rest is frozen."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
halves = [nn.Linear(4, 8), nn.Linear(8, 4)]
optimizers = [torch.optim.SGD(half.parameters(), lr=0.05) for half in halves]

for epoch in range(4):
    turn = epoch % 2
    for i, half in enumerate(halves):
        half.requires_grad_(i == turn)
        half.zero_grad()
    for inputs, labels in loader:
        optimizers[turn].zero_grad()
        nn.functional.cross_entropy(halves[1](torch.relu(halves[0](inputs))), labels).backward()
        optimizers[turn].step()
