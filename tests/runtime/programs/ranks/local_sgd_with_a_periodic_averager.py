"""Steps under no_sync, and torch's own averager of parameters every three of them."""
# mypy: ignore-errors

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
averager = PeriodicModelAverager(period=3, warmup_steps=2)
loss_fn = nn.MSELoss()

for _ in range(9):
    optimizer.zero_grad()
    with model.no_sync():
        loss_fn(model(torch.randn(3, 4)), torch.zeros(3, 2)).backward()
    optimizer.step()
    averager.average_parameters(model.parameters())
dist.destroy_process_group()
