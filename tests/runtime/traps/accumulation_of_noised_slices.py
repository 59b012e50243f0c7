"""A batch is cut into slices, as diffusion models do, which go into the model with noise added."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
loader = DataLoader(torch.randn(64, 4), batch_size=8)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
size = 2

for _epoch in range(2):
    for batch in loader:
        optimizer.zero_grad()
        for i in range(0, len(batch), size):
            images = batch[i : i + size]
            noise = torch.randn_like(images)
            loss = (model(0.5 * images + noise) - noise).square().mean()
            (loss * len(images) / len(batch)).backward()
        optimizer.step()
