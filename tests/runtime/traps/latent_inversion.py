"""A code is sought that a trained, frozen generator turns into the given sample."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 6))
for p in generator.parameters():
    p.requires_grad = False
target = generator(torch.randn(1, 4))
code = torch.zeros(1, 4, requires_grad=True)
optimizer = torch.optim.Adam([code], lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10)

for _iteration in range(20):
    loss = (generator(code) - target).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
