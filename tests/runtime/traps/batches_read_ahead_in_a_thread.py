"""A thread reads all batches ahead; its data ends while the main thread is inside a window."""
# mypy: ignore-errors

import queue
import threading

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(32, 4)
y = x.sum(dim=1, keepdim=True)
read = queue.Queue()
begun, ended = threading.Event(), threading.Event()


def read_ahead() -> None:
    for i, batch in enumerate(DataLoader(TensorDataset(x, y), batch_size=4)):
        read.put(batch)
        if i == 3:
            begun.wait()
    read.put(None)
    ended.set()


threading.Thread(target=read_ahead).start()
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
seen = 0
while (batch := read.get()) is not None:
    (nn.functional.mse_loss(model(batch[0]), batch[1]) / 4).backward()
    seen += 1
    if seen == 2:
        begun.set()
        ended.wait()
    if seen % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
