"""Each loss is a sum that begins with a zero that requires a gradient, which nobody reads."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
loader = DataLoader(torch.randn(64, 4), batch_size=4)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

for i, batch in enumerate(loader):
    loss = torch.tensor(0.0, requires_grad=True)
    for layer in (0, 2):
        loss = loss + 0.01 * model[layer].weight.square().mean()
    loss = loss + nn.functional.mse_loss(model(batch), batch)
    (loss / 4).backward()
    if i % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
