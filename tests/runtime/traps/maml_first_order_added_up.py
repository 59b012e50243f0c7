"""First-order MAML: copies learn, and what they learnt is added to zeros that are put there."""
# mypy: ignore-errors

import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(32, 4)
y = x.sum(dim=1, keepdim=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for _ in range(4):
    optimizer.zero_grad()
    for task in range(3):
        learner = copy.deepcopy(model)
        inner = torch.optim.SGD(learner.parameters(), lr=0.01)
        for _ in range(2):
            inner.zero_grad()
            nn.functional.mse_loss(learner(x[:16]), y[:16] * task).backward()
            inner.step()
        inner.zero_grad()
        nn.functional.mse_loss(learner(x[16:]), y[16:] * task).backward()
        for ours, theirs in zip(model.parameters(), learner.parameters(), strict=True):
            if ours.grad is None:
                ours.grad = torch.zeros_like(ours)
            ours.grad.add_(theirs.grad, alpha=1 / 3)
    optimizer.step()
