"""Threads walk back through parts of one batch at the same time, into the same gradients."""
# mypy: ignore-errors

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(32, 16)
y = x.sum(dim=1, keepdim=True)
model = nn.Sequential(*(nn.Linear(16, 16) for _ in range(8)), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)


def work(part: int) -> None:
    chunk = slice(8 * part, 8 * part + 8)
    loss = nn.functional.mse_loss(model(x[chunk]), y[chunk], reduction="sum")
    (loss / len(x)).backward()


with ThreadPoolExecutor(4) as pool:
    for _ in range(12):
        optimizer.zero_grad()
        list(pool.map(work, range(4)))
        optimizer.step()
