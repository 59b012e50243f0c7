"""A thread draws the batches, and another one trains on windows of them."""
# mypy: ignore-errors

import queue
import threading

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)

model = nn.Linear(4, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
ready: queue.Queue = queue.Queue(maxsize=3)


def read_ahead() -> None:
    for _epoch in range(4):
        for batch in loader:
            ready.put(batch)
    ready.put(None)


reader = threading.Thread(target=read_ahead)
reader.start()
seen = 0
while (batch := ready.get()) is not None:
    inputs, targets = batch
    loss = loss_fn(model(inputs), targets) / 4
    loss.backward()
    seen += 1
    if seen % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
reader.join()
