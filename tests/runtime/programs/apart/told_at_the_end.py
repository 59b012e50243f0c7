"""The same, where something might still be averaged."""
# mypy: ignore-errors

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import gradledger

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
steps = 0

try:
    with gradledger.audit(raise_on="error"):
        for _ in range(5):
            with model.no_sync():
                loss = model(torch.randn(3, 4)).square().mean()
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            dist.all_reduce(loss.detach())
            steps += 1
except gradledger.LawBroken as broken:
    print(f"{broken.finding.rule}:{broken.finding.at.line} in step {steps}", flush=True)
dist.destroy_process_group()
