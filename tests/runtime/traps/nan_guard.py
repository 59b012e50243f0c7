"""A loss that is not finite is never walked; a gradient that is not finite is never spent."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
x[10], x[40, 0] = float("nan"), 1e30
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for _epoch in range(3):
    for inputs, targets in loader:
        loss = nn.functional.smooth_l1_loss(model(inputs), targets)
        if not torch.isfinite(loss):
            continue
        (loss * loss).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        if not torch.isfinite(norm):
            optimizer.zero_grad()
            continue
        optimizer.step()
        optimizer.zero_grad()
