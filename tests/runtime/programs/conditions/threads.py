"""Two models are trained in two threads, while a third one evaluates."""

from __future__ import annotations

import threading

import torch
from torch import nn


def train(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    model = models[seed]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()  # the clear
        model(torch.randn(8, 4, generator=generator)).pow(2).mean().backward()
        optimizer.step()  # GL101: without the clear


torch.manual_seed(0)
models = [nn.Linear(4, 1) for _ in range(2)]
threads = [threading.Thread(target=train, args=(seed,)) for seed in range(2)]
threads.append(threading.Thread(target=lambda: nn.Linear(2, 2)(torch.ones(2))))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
