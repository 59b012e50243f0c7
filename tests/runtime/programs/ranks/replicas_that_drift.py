"""One rank changes its gradients after they were averaged: the replicas drift apart."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.MSELoss()

for i in range(9):
    loss_fn(model(torch.randn(3, 4)), torch.zeros(3, 2)).backward()
    if i > 4 and dist.get_rank() == dist.get_world_size() - 1:
        nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    optimizer.step()  # GL803
    optimizer.zero_grad()
dist.destroy_process_group()
