"""Post-local SGD: a hook of DDP averages gradients at first; later on, parameters are averaged."""
# mypy: ignore-errors

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import (
    PostLocalSGDState,
    post_localSGD_hook,
)
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 2))
alone = dist.new_subgroups(1)[0]
state = PostLocalSGDState(process_group=None, subgroup=alone, start_localSGD_iter=4)
model.register_comm_hook(state, post_localSGD_hook)
optimizer = PostLocalSGDOptimizer(
    optim=torch.optim.SGD(model.parameters(), lr=0.1),
    averager=PeriodicModelAverager(period=4, warmup_steps=4),
)
loss_fn = nn.MSELoss()

for _ in range(17):
    optimizer.zero_grad()
    loss_fn(model(torch.randn(3, 4)), torch.zeros(3, 2)).backward()
    optimizer.step()
dist.destroy_process_group()
