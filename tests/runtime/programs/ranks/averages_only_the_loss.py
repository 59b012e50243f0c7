"""Under no_sync throughout; what the ranks average is the loss, and none of the gradients."""

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
    with model.no_sync():
        loss = loss_fn(model(torch.randn(3, 4)), torch.zeros(3, 2))
        loss.backward()
    dist.all_reduce(loss.detach())
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()  # run: GL801
    optimizer.zero_grad()
dist.destroy_process_group()
