"""Many ranks: DDP with windows, on data that the ranks can't share out evenly.

    torchrun --nproc-per-node 2 examples/ddp.py

Each rank has its own part of the data, and one of them more than the others. Until a window is full
no rank sends anything; in its last backward DDP sends what all have, and the update is that of one
big batch. Started without torchrun, the program is a single rank.
"""

import copy
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper

if "RANK" in os.environ:
    dist.init_process_group("gloo")  # "nccl" with GPUs
else:
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
rank, ranks = dist.get_rank(), dist.get_world_size()

torch.manual_seed(0)  # the same on every rank: so are the houses, and so is the first model
torch.set_default_dtype(torch.float64)  # so that a difference would be a mistake, not rounding
houses = torch.randn(100, 3)
prices = houses @ torch.tensor([[3.0], [1.5], [-2.0]]) + houses[:, :1] * houses[:, 1:2]


def part_of(which: int) -> DataLoader[tuple[torch.Tensor, ...]]:
    """Every so manieth house, and to rank 0 ten more: it has data when others have none."""
    rows = list(range(which, 90, ranks)) + list(range(90, 100)) * (which == 0)
    return DataLoader(TensorDataset(houses[rows], prices[rows]), batch_size=8)


model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
twin = copy.deepcopy(model)  # will be trained on big batches, by hand
criterion = nn.MSELoss()
before = criterion(model(houses), prices).item()

replica = DistributedDataParallel(model)
optimizer = torch.optim.AdamW(replica.parameters(), lr=1e-2)
stepper = Stepper(replica, optimizer, accumulate=4, clip_norm=1.0)
for _epoch in range(20):
    for x, y in stepper.over(part_of(rank)):
        stepper.backward(criterion(replica(x), y), items=len(y))
after = criterion(model(houses), prices).item()

# The same again by hand: what all ranks have in a window is one batch.
optimizer = torch.optim.AdamW(twin.parameters(), lr=1e-2)
parts = [list(part_of(which)) for which in range(ranks)]
longest = max(map(len, parts))
for _epoch in range(20):
    for start in range(0, longest, 4):
        window = [batch for part in parts for batch in part[start : start + 4]]
        x, y = (torch.cat(column) for column in zip(*window, strict=True))
        optimizer.zero_grad()
        criterion(twin(x), y).backward()
        nn.utils.clip_grad_norm_(twin.parameters(), 1.0)
        optimizer.step()

pairs = zip(model.parameters(), twin.parameters(), strict=True)
apart = max((ours - theirs).abs().max().item() for ours, theirs in pairs)
if rank == 0:
    print(f"micro-batches of an epoch, rank by rank: {', '.join(str(len(p)) for p in parts)}")
    print(f"loss {before:.3f} -> {after:.3f} in {stepper.updates} updates on {ranks} ranks")
    print(f"largest difference from training with big batches: {apart:.1e}")
dist.destroy_process_group()
if apart > 1e-12:
    raise SystemExit("this should have been the big batch")
