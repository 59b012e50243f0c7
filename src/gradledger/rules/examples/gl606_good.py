"""Trains an MLP to color a checkerboard, watching the gradient of its first layer."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

points = 4 * torch.rand(512, 2)
labels = (points.floor().sum(dim=1) % 2).unsqueeze(1)
loader = DataLoader(TensorDataset(points, labels), batch_size=64, shuffle=True)

model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
loss_fn = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(31):
    largest = 0.0
    for x, y in loader:
        loss = loss_fn(model(x), y)
        loss.backward()
        largest = max(largest, model[0].weight.grad.norm().item())  # fix: read it before the clear
        optimizer.step()
        optimizer.zero_grad()
    if epoch % 15 == 0:
        print(f"epoch {epoch}: loss {loss.item():.4f}, largest gradient norm {largest:.3f}")
