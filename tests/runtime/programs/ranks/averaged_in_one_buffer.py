"""Four micro-batches under no_sync; then all gradients are averaged at once, in a flat copy."""
# mypy: ignore-errors

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import parameters_to_vector

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.MSELoss()


def average() -> None:
    flat = parameters_to_vector([p.grad for p in model.parameters()])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    start = 0
    for p in model.parameters():
        p.grad.copy_(flat[start : start + p.numel()].view_as(p))
        start += p.numel()


for _ in range(6):
    for _ in range(4):
        with model.no_sync():
            (loss_fn(model(torch.randn(3, 4)), torch.zeros(3, 2)) / 4).backward()
    average()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
