"""Real and false, noise on noise: one loss on different data, in a loop, is a sum by design."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

torch.manual_seed(0)
judge = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(judge.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    for samples, label in ((torch.randn(8, 4), 1.0), (torch.rand(8, 4), 0.0)):
        logits = judge(samples)
        binary_cross_entropy_with_logits(logits, torch.full_like(logits, label)).backward()
    optimizer.step()

x, y = torch.randn(16, 4), torch.randn(16, 1)
for _ in range(4):
    optimizer.zero_grad()
    for _ in range(3):
        noisy_batch = (x + torch.randn_like(x)).contiguous()
        mse_loss(judge(noisy_batch), y).backward()
    optimizer.step()

domains = [torch.randn(16, 4) for _ in range(3)]
for _ in range(4):
    optimizer.zero_grad()
    for number in range(3):
        batch = iter(domains[number].split(8))
        judge(next(batch)).square().mean().backward()
    optimizer.step()
