"""The norm of scaled gradients is divided by the scale before it is logged."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x.argmax(dim=1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
norms = []

for _ in range(8):
    optimizer.zero_grad()
    scaler.scale(nn.functional.cross_entropy(model(x), y)).backward()
    norms.append(
        nn.utils.clip_grad_norm_(model.parameters(), float("inf")).item() / scaler.get_scale()
    )
    scaler.step(optimizer)
    scaler.update()
