"""Saved after an epoch, loaded into new objects, and trained on."""
# mypy: ignore-errors

import io

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
file = io.BytesIO()

for run in range(2):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    if run:
        file.seek(0)
        saved = torch.load(file)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
    for _epoch in range(2):
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
        scheduler.step()
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    torch.save({name: part.state_dict() for name, part in parts.items()}, file)
