"""A hook that runs after each step clears; the loop itself never does."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(16, 4)
y = x.sum(dim=1, keepdim=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def clear(optimizer: torch.optim.Optimizer, args: tuple, kwargs: dict) -> None:
    optimizer.zero_grad()


optimizer.register_step_post_hook(clear)

for _ in range(6):
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
