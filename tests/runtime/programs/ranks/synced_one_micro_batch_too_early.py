"""Of a window's micro-batches the first is averaged, and not the last. Losses are averaged, too."""
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

for i in range(12):
    model.require_backward_grad_sync = i % 4 == 0
    loss = loss_fn(model(torch.randn(3, 4)), torch.zeros(3, 2)) / 4
    loss.backward()
    if i % 4 == 3:
        optimizer.step()  # run: GL801
        optimizer.zero_grad()
        dist.all_reduce(loss.detach())
dist.destroy_process_group()
