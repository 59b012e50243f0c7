"""Local SGD whose periods double, with one step on averaged gradients before each average."""
# mypy: ignore-errors

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss_fn = nn.MSELoss()

step, period = 0, 2
for _ in range(6):
    for i in range(period):
        optimizer.zero_grad()
        model.require_backward_grad_sync = i == period - 1
        loss_fn(model(torch.randn(3, 4)), torch.zeros(3, 2)).backward()
        optimizer.step()
    for p in model.parameters():
        dist.all_reduce(p.data)
        p.data /= dist.get_world_size()
    period *= 2
dist.destroy_process_group()
