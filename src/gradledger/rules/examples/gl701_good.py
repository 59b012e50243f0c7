"""Trains a classifier on points inside and outside a ring, and reports each epoch's mean loss."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train_one_epoch(model, loader, optimizer):
    total_loss = torch.zeros(())
    for points, inside in loader:
        loss = nn.functional.binary_cross_entropy_with_logits(model(points).squeeze(1), inside)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_loss += loss.detach()  # fix: add the number, not its graph
    return total_loss / len(loader)


torch.manual_seed(0)
points = 2 * torch.rand(640, 2) - 1
inside = (points.norm(dim=1) < 0.7).float()
loader = DataLoader(TensorDataset(points, inside), batch_size=32, shuffle=True)

model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for _ in range(15):
    mean_loss = train_one_epoch(model, loader, optimizer)

print(f"mean loss of the last epoch: {mean_loss:.4f}")
print(f"the mean loss still holds a graph: {mean_loss.requires_grad}")
