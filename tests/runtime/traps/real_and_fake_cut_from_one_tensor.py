"""Real and fake samples lie in one tensor, and each half is judged for itself: a sum by design."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

torch.manual_seed(0)
judge = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(judge.parameters(), lr=0.01)

for _ in range(5):
    both = torch.cat([torch.randn(8, 6), torch.rand(8, 6)])
    optimizer.zero_grad()
    for part, label in zip(both.chunk(2), (1.0, 0.0), strict=True):
        logits = judge(part)
        binary_cross_entropy_with_logits(logits, torch.full_like(logits, label)).backward()
    optimizer.step()
