"""The gradients are in a list that was made once; the loop clears what is in the list."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(16, 4)
y = x.sum(dim=1, keepdim=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for p in model.parameters():
    p.grad = torch.zeros_like(p)
gradients = [p.grad for p in model.parameters()]

for _ in range(8):
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    torch._foreach_zero_(gradients)
