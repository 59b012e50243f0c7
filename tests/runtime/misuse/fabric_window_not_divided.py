"""Fabric leaves the division to the loop, and the loop does not divide."""
# mypy: ignore-errors

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fabric = lightning.Fabric(accelerator="cpu", devices=1)
fabric.launch()
fabric.seed_everything(0, verbose=False)

x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
model, optimizer = fabric.setup(model, optimizer)
loader = fabric.setup_dataloaders(loader)
accumulate = 4

for _epoch in range(2):
    for i, (inputs, targets) in enumerate(loader):  # 8 batches
        accumulating = (i + 1) % accumulate != 0
        with fabric.no_backward_sync(model, enabled=accumulating):
            loss = nn.functional.mse_loss(model(inputs), targets)
            fabric.backward(loss)  # GL301: four means are added up
        if not accumulating:
            optimizer.step()
            optimizer.zero_grad()
