"""Trains a classifier of points in a ring and validates it after every epoch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def make_loader(count, shuffle):
    points = 2 * torch.rand(count, 2) - 1
    radius = points.norm(dim=1)
    inside_ring = ((radius > 0.4) & (radius < 0.8)).float().unsqueeze(1)
    return DataLoader(TensorDataset(points, inside_ring), batch_size=64, shuffle=shuffle)


def run_epoch(loader, train):
    """Goes through the loader once; returns the mean loss and the number of optimizer steps."""
    model.train(train)
    total, steps = 0.0, 0
    for x, y in loader:
        with torch.set_grad_enabled(train):
            loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        if train:
            loss.backward()
            optimizer.step()  # fix: step only where a backward has run
            steps += 1
        total += loss.item()
    return total / len(loader), steps


train_loader = make_loader(512, shuffle=True)
valid_loader = make_loader(256, shuffle=False)
model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1))
loss_fn = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for _epoch in range(20):
    train_loss, train_steps = run_epoch(train_loader, train=True)
    valid_loss, valid_steps = run_epoch(valid_loader, train=False)

print(f"training loss {train_loss:.3f}, validation loss {valid_loss:.3f}")
print(f"steps in the last epoch: {train_steps} in training, {valid_steps} in validation")
