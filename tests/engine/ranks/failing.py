"""A sharded model of which one rank fails where it can't be stood in for.

torchrun … -m tests.engine.ranks.failing FOLDER WHERE: every rank goes on after each exception, as
far as it gets, and leaves what it was told.
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.optim import SGD

from gradledger import RankFailure, Stepper
from tests.engine.loops import Boom
from tests.engine.ranks.schedules import Data, Fragile, Schedule


def main(folder: Path, where: str) -> None:
    """Trains until that fails, and writes down how it did."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=30))
    rank = dist.get_rank()
    index = 0 if where == "data" else 3
    faults = {(1, 0, index): where}
    schedule = Schedule(((2, 2, 2, 2, 2, 2),) * 2, faults=faults)  # type: ignore[arg-type]
    model = Fragile()
    for part in (model.first, model.last, model):
        fully_shard(part)
    stepper = Stepper(model, SGD(model.parameters(), 0.1), accumulate=2)
    batches = stepper.over(Data(schedule, rank, 0, length=False))
    told: list[str] = []
    while len(told) < 3:
        try:
            for i, (x, y) in batches:
                model.fails = schedule.fault(rank, 0, i)
                stepper.backward((model(x) - y).square().mean(), items=len(y))
            told.append("ended")
        except RankFailure as error:
            told.append(f"RankFailure: {error}")
            break
        except (Boom, RuntimeError) as error:
            told.append(f"{type(error).__name__}: {error}")
    (folder / f"rank{rank}").write_text("\n".join(told))
    os._exit(0)  # the group of the gradients is out of step: it would wait for the others


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
