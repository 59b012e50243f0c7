"""Gradients are made in the main thread; a worker clips, steps and clears."""
# mypy: ignore-errors

import queue
import threading

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(16, 4)
y = x.sum(dim=1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
ready, done = queue.Queue(), queue.Queue()


def update() -> None:
    while ready.get():
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        done.put(True)


worker = threading.Thread(target=update)
worker.start()
for _ in range(6):
    nn.functional.mse_loss(model(x), y).backward()
    ready.put(True)
    done.get()
ready.put(False)
worker.join()
