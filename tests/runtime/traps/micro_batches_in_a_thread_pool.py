"""Micro-batches of one window are walked back in a pool's threads, one after another."""
# mypy: ignore-errors

import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(48, 4)
y = x.sum(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=6)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulate = 4
all_here = threading.Barrier(3)


def work(inputs: torch.Tensor, targets: torch.Tensor) -> None:
    loss = nn.functional.mse_loss(model(inputs), targets)
    (loss / accumulate).backward()


with ThreadPoolExecutor(3) as pool:
    for waiting in [pool.submit(all_here.wait) for _ in range(3)]:  # now the pool has all three
        waiting.result()
    for _epoch in range(3):
        for i, (inputs, targets) in enumerate(loader):
            pool.submit(work, inputs, targets).result()
            if (i + 1) % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
