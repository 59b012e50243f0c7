"""Trains in float16 with a scaler that overflows and recovers, and in bfloat16 without one."""

from __future__ import annotations

import torch
from torch import nn
from torch.amp import GradScaler, autocast
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(1)
kept = []

for fused in (False, True):
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
    optimizer: torch.optim.Optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, fused=fused)
    scaler = GradScaler("cpu", init_scale=2.0**40, growth_interval=3)
    for _ in range(30):
        x = torch.randn(16, 8)
        optimizer.zero_grad()
        with autocast("cpu", dtype=torch.float16):
            loss = (model(x) - x.mean(1, keepdim=True)).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    kept.append((model, scaler.get_scale(), float(norm)))
    print(scaler.get_scale(), loss.item())

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).to(torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for number in range(32):
    x = torch.randn(16, 8, dtype=torch.bfloat16)
    ((model(x) - 1).pow(2).mean() / 4).backward()
    if number % 4 == 3:
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
