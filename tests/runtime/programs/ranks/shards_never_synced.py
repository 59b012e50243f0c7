"""FSDP2: gradients are never reduced, so that no step finds any."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
for part in model:
    fully_shard(part)
sharded = fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.MSELoss()

sharded.set_requires_gradient_sync(False)
for _ in range(6):
    for _ in range(4):
        (loss_fn(model(torch.randn(3, 4)), torch.zeros(3, 2)) / 4).backward()
    optimizer.step()  # run: GL801
    optimizer.zero_grad()
dist.destroy_process_group()
