"""FSDP2: each of four micro-batches is reduced, which keeps no whole gradients in memory."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
for part in (*model, model):
    fully_shard(part)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.MSELoss()

for _ in range(6):
    for _ in range(4):
        (loss_fn(model(torch.randn(3, 4)), torch.zeros(3, 2)) / 4).backward()  # run: GL802
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
