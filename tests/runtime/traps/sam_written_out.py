"""Sharpness-aware minimisation in the loop itself: climb, clear, second backward, step."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loss_fn = nn.CrossEntropyLoss()
rho = 0.05

for _epoch in range(3):
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss_fn(model(inputs), labels).backward()
        climbs = []
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
            for p in model.parameters():
                climb = p.grad * (rho / (norm + 1e-12))
                p.add_(climb)
                climbs.append(climb)
        optimizer.zero_grad()
        loss_fn(model(inputs), labels).backward()
        with torch.no_grad():
            for p, climb in zip(model.parameters(), climbs, strict=True):
                p.sub_(climb)
        optimizer.step()
