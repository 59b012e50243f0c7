"""Fabric starts the other rank itself. Rank 1 forgets to clear."""

import torch
from lightning.fabric import Fabric

fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
fabric.launch()
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = fabric.setup(model, optimizer)
for _ in range(4):
    if fabric.global_rank != 1:
        optimizer.zero_grad()
    fabric.backward(model(torch.randn(2, 4)).square().mean())
    optimizer.step()
