"""One rank makes a mistake that no other makes, and then dies, as the arguments say."""

import os
import signal
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

way, who = sys.argv[1], int(sys.argv[2])
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def die() -> None:
    match way:
        case "killed" | "lets others wait":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raises":
            raise ValueError("boom")
        case "leaves":
            os._exit(3)
        case "is killed once":
            if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
                os.kill(os.getpid(), signal.SIGKILL)


for i in range(6):
    model(torch.ones(3, 4)).sum().backward()
    optimizer.step()
    if rank != who or i != 2:
        optimizer.zero_grad()
    if rank == who and i == 4:
        die()
    if way == "lets others wait" and i == 4:
        # In C++, where Python calls no handler, and no other rank's end helps.
        dist.distributed_c10d._get_default_store().get("what nobody says")
