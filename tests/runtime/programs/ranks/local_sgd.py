"""Local SGD: each rank steps for itself, and every four steps they average their parameters."""
# mypy: ignore-errors

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.MSELoss()

for i in range(10):
    with model.no_sync():
        loss = loss_fn(model(torch.randn(3, 4)), torch.zeros(3, 2))
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if i % 4 == 3:
        for p in model.parameters():
            dist.all_reduce(p.data)
            p.data /= dist.get_world_size()
dist.destroy_process_group()
