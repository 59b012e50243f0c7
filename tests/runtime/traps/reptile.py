"""The meta gradient is a difference of weights, put into .grad by hand."""
# mypy: ignore-errors

import copy

import torch
from torch import nn
from torch.nn.functional import mse_loss

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
meta_optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for _iteration in range(6):
    slope = torch.randn(())
    learner = copy.deepcopy(model)
    inner_optimizer = torch.optim.SGD(learner.parameters(), lr=0.05)
    for _inner in range(4):
        x = torch.randn(8, 1)
        inner_optimizer.zero_grad()
        mse_loss(learner(x), slope * x).backward()
        inner_optimizer.step()
    meta_optimizer.zero_grad()
    for p, q in zip(model.parameters(), learner.parameters(), strict=True):
        p.grad = p.detach() - q.detach()
    meta_optimizer.step()
