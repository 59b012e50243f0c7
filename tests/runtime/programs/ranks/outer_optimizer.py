"""DiLoCo: each rank steps for itself; an outer optimizer takes the average of how far they went."""
# mypy: ignore-errors

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 2))
inner = torch.optim.AdamW(model.parameters(), lr=0.01)
start = [p.detach().clone().requires_grad_() for p in model.parameters()]
outer = torch.optim.SGD(start, lr=0.7, momentum=0.9, nesterov=True)
loss_fn = nn.MSELoss()

for i in range(12):
    with model.no_sync():
        loss_fn(model(torch.randn(3, 4)), torch.zeros(3, 2)).backward()
    inner.step()
    inner.zero_grad()
    if i % 4 == 3:
        for origin, p in zip(start, model.parameters(), strict=True):
            went = origin.detach() - p.detach()
            dist.all_reduce(went)
            origin.grad = went / dist.get_world_size()
        outer.step()
        outer.zero_grad()
        with torch.no_grad():
            for origin, p in zip(start, model.parameters(), strict=True):
                p.copy_(origin)
dist.destroy_process_group()
