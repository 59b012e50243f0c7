"""Members of an ensemble are walked back at the same time; the main thread steps them all."""
# mypy: ignore-errors

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(16, 4)
y = x.sum(dim=1, keepdim=True)
members = [nn.Sequential(*(nn.Linear(4, 4) for _ in range(6)), nn.Linear(4, 1)) for _ in range(4)]
optimizers = [torch.optim.Adam(member.parameters(), lr=0.01) for member in members]


def work(member: nn.Module) -> float:
    loss = nn.functional.mse_loss(member(x), y)
    loss.backward()
    return loss.item()


with ThreadPoolExecutor(3) as pool:
    for _ in range(10):
        losses = list(pool.map(work, members))
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
