"""One thread has three losses to a batch, another one goes on to its next batch in between."""
# mypy: ignore-errors

import threading

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(32, 4)
y = x.sum(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=4)
both = threading.Barrier(2)


def several_losses() -> None:
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for inputs, targets in loader:
        optimizer.zero_grad()
        for task in range(3):
            nn.functional.mse_loss(model(inputs)[:, task : task + 1], targets).backward()
            both.wait()
        optimizer.step()


def short_epochs() -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _epoch in range(3):
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
            both.wait()


threads = [threading.Thread(target=train) for train in (several_losses, short_epochs)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
