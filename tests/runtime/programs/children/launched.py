"""A training as launchers start it. Rank 1 forgets to clear."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

model: nn.Module = nn.Linear(4, 2)
rank = 0
if "RANK" in os.environ and int(os.environ["WORLD_SIZE"]) > 1:
    dist.init_process_group("gloo")
    model, rank = DistributedDataParallel(model), dist.get_rank()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    if rank != 1:
        optimizer.zero_grad()
    model(torch.randn(3, 4)).square().mean().backward()
    optimizer.step()
if dist.is_initialized():
    dist.destroy_process_group()
