"""Many ranks: FSDP2 with windows. Each rank holds a part of every layer, and of its gradient.

    torchrun --nproc-per-node 2 examples/fsdp.py

The layers are put together for each micro-batch, which FSDP2 does anyway; gradients travel in the
last micro-batch of a window alone. The norm that is clipped is that of all parts together. A rank
whose data ends first takes part with a weight of zero. Started without torchrun, the program is a
single rank.
"""

import copy
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper

if "RANK" in os.environ:
    dist.init_process_group("gloo")  # "nccl" with GPUs
else:
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
rank, ranks = dist.get_rank(), dist.get_world_size()

torch.manual_seed(0)  # the same on every rank: so are the points, and so is the first model
torch.set_default_dtype(torch.float64)  # so that a difference would be a mistake, not rounding
points = torch.rand(120, 2) * 4 - 2
heights = torch.sin(points[:, :1]) * torch.cos(points[:, 1:])


def part_of(which: int) -> DataLoader[tuple[torch.Tensor, ...]]:
    """Every so manieth point, and to rank 0 twenty more: it has data when others have none."""
    rows = list(range(which, 100, ranks)) + list(range(100, 120)) * (which == 0)
    return DataLoader(TensorDataset(points[rows], heights[rows]), batch_size=8)


class Surface(nn.Module):
    """Heights of a surface."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 24), nn.Linear(24, 24)])
        self.head = nn.Linear(24, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of points on it."""
        for layer in self.layers:
            x = layer(x).tanh()
        height: torch.Tensor = self.head(x)
        return height.clone()


model = Surface()
twin = copy.deepcopy(model)  # will be trained on big batches, by hand
criterion = nn.MSELoss()
before = criterion(model(points), heights).item()

for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)  # after fully_shard: of the parts
stepper = Stepper(model, optimizer, accumulate=3, clip_norm=0.5)
for _epoch in range(20):
    for x, y in stepper.over(part_of(rank)):
        stepper.backward(criterion(model(x), y), items=len(y))

# The same again by hand: what all ranks have in a window is one batch.
by_hand = torch.optim.AdamW(twin.parameters(), lr=1e-2)
parts = [list(part_of(which)) for which in range(ranks)]
longest = max(map(len, parts))
for _epoch in range(20):
    for start in range(0, longest, 3):
        window = [batch for part in parts for batch in part[start : start + 3]]
        x, y = (torch.cat(column) for column in zip(*window, strict=True))
        by_hand.zero_grad()
        criterion(twin(x), y).backward()
        nn.utils.clip_grad_norm_(twin.parameters(), 0.5)
        by_hand.step()
after = criterion(twin(points), heights).item()

apart = 0.0
for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
    assert isinstance(ours, DTensor)
    apart = max(apart, (ours.full_tensor() - theirs).abs().max().item())
if rank == 0:
    here = sum(p.to_local().numel() for p in model.parameters() if isinstance(p, DTensor))
    print(f"rank 0 holds {here} of {sum(p.numel() for p in twin.parameters())} numbers")
    print(f"loss {before:.3f} -> {after:.3f} in {stepper.updates} updates on {ranks} ranks")
    print(f"largest difference from training with big batches: {apart:.1e}")
dist.destroy_process_group()
if apart > 1e-12:
    raise SystemExit("this should have been the big batch")
