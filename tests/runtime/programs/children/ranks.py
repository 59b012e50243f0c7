"""Ranks by `torch.multiprocessing.spawn`, as PyTorch's tutorial of DDP starts them.

`ranks.py METHOD FOLDER [fault]`: with a fault, rank 1 spends gradients again.
"""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.multiprocessing.spawn import start_processes
from torch.nn.parallel import DistributedDataParallel


def train(rank: int, world: int, store: str, fault: bool) -> None:
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=world)
    torch.manual_seed(rank)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 2)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        optimizer.step()
        if fault and rank == 1:
            optimizer.step()
    numbers = [p.detach().numpy().tobytes().hex() for p in model.parameters()]
    Path(f"rank{rank}.txt").write_text("\n".join([*numbers, str(torch.rand(3).tolist())]))
    dist.destroy_process_group()


if __name__ == "__main__":
    store = Path("store").absolute().as_uri()
    args = (2, store, len(sys.argv) > 2)
    start_processes(train, args, nprocs=2, start_method=sys.argv[1])  # type: ignore[no-untyped-call]
