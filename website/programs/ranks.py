import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 1))
    x = torch.randn(8, 4) + rank  # each rank has data of its own

    def gradients(what):
        mine = model.module.bias.grad.clone()
        both = [torch.zeros_like(mine) for _ in range(2)]
        dist.all_gather(both, mine)
        if rank == 0:
            print(f"{what:36} rank 0 {both[0].item():7.3f}   rank 1 {both[1].item():7.3f}")
        model.zero_grad()

    with model.no_sync():
        model(x).square().mean().backward()
    gradients("under no_sync: each its own")

    with model.no_sync():
        (model(x).square().mean() / 2).backward()
    (model(x).square().mean() / 2).backward()
    gradients("the last one outside: averaged")
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(train, (f"{folder}/store",), nprocs=2)
