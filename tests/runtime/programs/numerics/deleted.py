"""Says when models, batches and optimizers go, in a function that deletes them."""

from __future__ import annotations

import weakref

import torch
from torch import nn
from torch.optim import SGD

gone: list[str] = []


def train() -> None:
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = SGD(model.parameters(), lr=0.1)
    for number in range(3):
        batch = torch.ones(4, 2)
        loss = model(batch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for name, thing in (("batch", batch), ("loss", loss)):
            weakref.finalize(thing, gone.append, f"{name} {number}")
    weakref.finalize(model, gone.append, "model")
    weakref.finalize(optimizer, gone.append, "optimizer")
    del thing, batch, loss, model, optimizer
    gone.append("the end of the function")


train()
print(gone)
