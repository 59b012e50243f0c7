"""Four micro-batches to a window, all of them under no_sync: the step spends what one rank has."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.MSELoss()

for _ in range(6):
    for _ in range(4):
        with model.no_sync():
            (loss_fn(model(torch.randn(3, 4)), torch.zeros(3, 2)) / 4).backward()
    optimizer.step()  # GL801
    optimizer.zero_grad()
dist.destroy_process_group()
