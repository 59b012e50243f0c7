"""The backward pass runs in a thread of its own, and the step where the thread was started."""
# mypy: ignore-errors

import threading

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(16, 4)
y = x.sum(dim=1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def work() -> None:
    nn.functional.mse_loss(model(x), y).backward()


for _ in range(6):
    optimizer.zero_grad()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    optimizer.step()
