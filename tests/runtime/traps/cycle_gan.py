"""Two generators under one optimizer, two discriminators under another, one loss for each pair."""
# mypy: ignore-errors

from itertools import chain

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(48, 2), torch.randn(48, 2) + 2), batch_size=16)
a_to_b, b_to_a = nn.Linear(2, 2), nn.Linear(2, 2)
judge_a, judge_b = nn.Linear(2, 1), nn.Linear(2, 1)
opt_g = torch.optim.Adam(chain(a_to_b.parameters(), b_to_a.parameters()), lr=1e-3)
opt_d = torch.optim.Adam(chain(judge_a.parameters(), judge_b.parameters()), lr=1e-3)


def set_requires_grad(nets: list[nn.Module], flag: bool) -> None:
    for net in nets:
        for p in net.parameters():
            p.requires_grad = flag


def judge_loss(judge: nn.Module, real: Tensor, fake: Tensor) -> None:
    loss = (judge(real) - 1).pow(2).mean() + judge(fake.detach()).pow(2).mean()
    (loss * 0.5).backward()


for _epoch in range(3):
    for a, b in loader:
        fake_b, fake_a = a_to_b(a), b_to_a(b)
        set_requires_grad([judge_a, judge_b], False)
        opt_g.zero_grad()
        fooling = (judge_b(fake_b) - 1).pow(2).mean() + (judge_a(fake_a) - 1).pow(2).mean()
        cycle = (b_to_a(fake_b) - a).abs().mean() + (a_to_b(fake_a) - b).abs().mean()
        (fooling + 10 * cycle).backward()
        opt_g.step()
        set_requires_grad([judge_a, judge_b], True)
        opt_d.zero_grad()
        judge_loss(judge_a, a, fake_a)
        judge_loss(judge_b, b, fake_b)
        opt_d.step()
