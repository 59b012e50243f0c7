"""Training on ranks that are killed and restarted by torchrun.

torchrun … -m tests.engine.ranks.killed FOLDER AT: rank 1 kills itself at the place AT of the
first start (-1: never). Every rank saves in the middle of windows, and goes on from what all have.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import AdamW
from torch.utils.data import DataLoader, TensorDataset

from gradledger import Stepper

EPOCHS, EVERY, ACCUMULATE = 3, 4, 3


def main(folder: Path, at: int) -> None:
    """Trains to the end, from wherever all ranks can."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    first_start = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    torch.manual_seed(5)
    inner = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.3), nn.Tanh(), nn.Linear(8, 2))
    model = DistributedDataParallel(inner)
    optimizer = AdamW(model.parameters(), 0.01)
    stepper = Stepper(model, optimizer, accumulate=ACCUMULATE, clip_norm=0.5)
    torch.manual_seed(rank)
    rows = 22 - 5 * rank  # the ranks do not have the same
    data = TensorDataset(torch.randn(rows, 6), torch.randn(rows, 2))
    loader = DataLoader(data, batch_size=2, shuffle=True)

    # An epoch and a place in it: the same on all ranks, also where they do not have as much data.
    saved = latest(folder, ranks)
    if saved:
        stepper.load(folder / f"{saved}.{rank}")
    while stepper.epoch < EPOCHS:
        start = saved % 1000 if stepper.epoch == saved // 1000 else 0
        for done, (x, y) in enumerate(stepper.over(loader), start + 1):
            stepper.backward((model(x) - y).square().mean(), items=len(y))
            place = 1000 * stepper.epoch + done
            if done % EVERY == 0:
                stepper.save(folder / f"{place}.{rank}")
            if rank == 1 and place == at and first_start:
                os.kill(os.getpid(), signal.SIGKILL)
    torch.save([p.detach() for p in model.parameters()], folder / f"final.{rank}")
    (folder / f"starts.{rank}").write_text(os.environ["TORCHELASTIC_RESTART_COUNT"])
    dist.barrier()
    dist.destroy_process_group()


def latest(folder: Path, ranks: int) -> int:
    """The last place of which every rank has a checkpoint. Those are whole, or not there."""
    there = [{int(p.stem) for p in folder.glob(f"[0-9]*.{rank}")} for rank in range(ranks)]
    both = set.intersection(*there)
    dist.barrier()  # all have looked, before anybody writes
    return max(both, default=0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
