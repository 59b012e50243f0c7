"""The scale is divided out by hand, and the optimizer steps without the scaler."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

for _epoch in range(3):
    for inputs, targets in loader:
        optimizer.zero_grad()
        scaler.scale(nn.functional.mse_loss(model(inputs), targets)).backward()
        for p in model.parameters():
            p.grad /= scaler.get_scale()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
