"""What runs on every rank: torchrun … -m tests.engine.ranks.program FOLDER SET RANKS

One launch runs all cases of a set, because starting takes longer than most of them.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from gradledger import Stepper, StepperWarning
from tests.engine.loops import Boom
from tests.engine.ranks.schedules import Data, Fragile, Schedule


def replicate(schedule: Schedule) -> tuple[nn.Module, Fragile]:
    inner = Fragile()
    return DistributedDataParallel(inner, **schedule.spread), inner


def shard(schedule: Schedule) -> tuple[nn.Module, Fragile]:
    inner = Fragile()
    for part in (inner.first, inner.last, inner):
        fully_shard(part, **schedule.spread)
    return inner, inner


def train(
    schedule: Schedule, spread: Callable[[Schedule], tuple[nn.Module, Fragile]] = replicate
) -> dict[str, Any]:
    """Runs a schedule on this rank, and tells what came of it."""
    rank = dist.get_rank()
    model, inner = spread(schedule)
    optimizer = schedule.optimizer(model)
    stepper = Stepper(model, optimizer, accumulate=schedule.accumulate, **schedule.options)
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StepperWarning)
        for epoch in range(schedule.epochs):
            batches = stepper.over(Data(schedule, rank, epoch, length=epoch % 2 == 0))
            while True:
                try:
                    for i, (x, y) in batches:
                        inner.fails = schedule.fault(rank, epoch, i)
                        out = model(x)
                        if inner.fails == "loss":
                            raise Boom("in the loss")
                        loss = (out - y).square().mean()
                        stepper.backward(loss, items=len(y) if schedule.rows else None)
                    break
                except Boom as error:
                    told.append(str(error))
    return {
        "weights": {name: whole(p) for name, p in inner.named_parameters()},
        "moments": [
            whole(value)
            for state in optimizer.state.values()
            for value in state.values()
            if isinstance(value, Tensor)
        ],
        "updates": stepper.updates,
        "dropped": stepper.dropped,
        "skipped": stepper.skipped,
        "last skip": str(stepper.last_skip),
        "norm": stepper.grad_norm,
        "errors": told,
        "warnings": [str(w.message) for w in caught if w.category is StepperWarning],
        "cells": [name for name, p in inner.named_parameters() if p.grad is not None],
    }


def whole(p: Tensor) -> Tensor:
    """All of it, also where this rank has a shard."""
    full: Tensor = p.full_tensor() if isinstance(p, DTensor) else p
    return full.detach().clone()


def main(folder: Path, cases: dict[str, Callable[[], Any]]) -> None:
    """Runs every case, and leaves what each says in a file for this rank."""
    torch.set_num_threads(1)
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "Full backward hook is firing")
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    results = {}
    for name, case in cases.items():
        try:
            results[name] = case()
        except Exception:
            results[name] = traceback.format_exc()
        if os.environ.get("VERBOSE") and isinstance(results[name], str):
            print(name, results[name], flush=True)
    torch.save(results, folder / f"rank{dist.get_rank()}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    from tests.engine.ranks.cases import SETS

    with suppress(BrokenPipeError):
        main(Path(sys.argv[1]), SETS[sys.argv[2]](int(sys.argv[3])))
