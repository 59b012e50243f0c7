"""A warm-up and a cosine, moved once for each window."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=12)

for _epoch in range(3):
    for i, (inputs, targets) in enumerate(loader):
        (nn.functional.mse_loss(model(inputs), targets) / 2).backward()
        if i % 2 == 1:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()

optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
warmup, cosine = LinearLR(optimizer, 0.1, total_iters=4), CosineAnnealingLR(optimizer, T_max=12)
scheduler = SequentialLR(optimizer, [warmup, cosine], milestones=[4])
for _epoch in range(2):
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        scheduler.step()
