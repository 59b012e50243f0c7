"""Trials in a function: some are pruned early, and leave gradients that nobody needs."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)


def trial(lr: float, width: int, best: float) -> float:
    model = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _epoch in range(3):
        total = 0.0
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if total / len(loader) > best:
            break
    return total / len(loader)


best = float("inf")
for lr in (1.0, 0.1, 0.01):
    for width in (4, 16):
        best = min(best, trial(lr, width, best))
