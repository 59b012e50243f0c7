"""Linear regression with no optimizer at all: the update is written out under no_grad."""
# mypy: ignore-errors

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.3
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)

w = torch.zeros(3, requires_grad=True)
b = torch.zeros((), requires_grad=True)
lr = 0.1

for _epoch in range(5):
    for inputs, targets in loader:
        loss = ((inputs @ w + b - targets) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
            w.grad.zero_()
            b.grad.zero_()
