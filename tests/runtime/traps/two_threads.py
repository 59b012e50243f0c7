"""Two models, each trained in a thread of its own."""
# mypy: ignore-errors

import threading

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(dim=1, keepdim=True)


def train(model: nn.Module, lr: float) -> None:
    loader = DataLoader(TensorDataset(x, y), batch_size=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _epoch in range(2):
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()


threads = [threading.Thread(target=train, args=(nn.Linear(4, 1), lr)) for lr in (0.01, 0.05)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
