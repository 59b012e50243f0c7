"""A generator against a discriminator, with windows, decay, penalties and second derivatives."""

from __future__ import annotations

import torch
from torch import nn

torch.manual_seed(4)
generator = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
critic = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(), nn.Dropout(0.1), nn.Linear(8, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=0.01, betas=(0.5, 0.9))
opt_c = torch.optim.NAdam(critic.parameters(), lr=0.01, weight_decay=0.01)
decay = torch.optim.lr_scheduler.StepLR(opt_g, 5)

for turn in range(12):
    opt_c.zero_grad()
    real, fake = torch.randn(16, 3) + 1, generator(torch.randn(16, 2)).detach()
    between = (0.5 * (real + fake)).requires_grad_()
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    penalty = (slope.norm(dim=1) - 1).pow(2).mean()
    (critic(fake).mean() - critic(real).mean() + 10 * penalty).backward()
    opt_c.step()
    if turn % 3 == 2:
        opt_g.zero_grad()
        critic.requires_grad_(False)
        for _ in range(2):
            (-critic(generator(torch.randn(16, 2))).mean() / 2).backward()
        critic.requires_grad_(True)
        opt_g.step()
        decay.step()

print([round(float(p.detach().sum()), 6) for p in [*generator.parameters(), *critic.parameters()]])
