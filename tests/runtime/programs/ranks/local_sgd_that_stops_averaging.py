"""Local SGD that averages every four steps at first, and then never again."""
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

for i in range(260):
    with model.no_sync():
        loss_fn(model(torch.randn(3, 4)), torch.zeros(3, 2)).backward()
    optimizer.step()  # run: GL801
    optimizer.zero_grad()
    if i % 4 == 3 and i < 16:
        for p in model.parameters():
            dist.all_reduce(p.data)
            p.data /= dist.get_world_size()
dist.destroy_process_group()
