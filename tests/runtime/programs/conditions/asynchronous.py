"""A coroutine and a generator train, each a little at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def steps() -> Iterator[None]:
    while True:
        optimizer.zero_grad()  # the clear
        yield
        model(torch.randn(8, 4)).pow(2).mean().backward()
        yield
        optimizer.step()  # GL101: without the clear
        yield


async def train() -> None:
    training = steps()
    for _ in range(15):
        next(training)
        await asyncio.sleep(0)


asyncio.run(train())
