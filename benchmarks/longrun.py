"""A long run, audited or not: the time of its steps, its memory and its recording as it goes on.

`python -m benchmarks.longrun MODE STEPS FOLDER` prints them as JSON. It is a process of its own,
because memory that another one has left can't be told apart.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
from torch.nn.functional import mse_loss
from torch.optim import AdamW

from benchmarks.tasks import small
from gradledger import audit

RECORDING = "run.gradledger"


def train(
    watched: AbstractContextManager[object], steps: list[int], folder: Path
) -> list[list[float]]:
    """For each number of steps: seconds for a step since the last, bytes in memory, bytes kept."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = small()
    optimizer = AdamW(model.parameters())
    x, y = torch.randn(32, 10), torch.randn(32, 1)
    seen = []
    with watched:
        done = 0
        for until in steps:
            start = time.process_time()
            for _ in range(done, until):
                optimizer.zero_grad()
                mse_loss(model(x), y).backward()
                optimizer.step()
            taken = (time.process_time() - start) / (until - done)
            gc.collect()
            kept = sum(file.stat().st_size for file in folder.glob(f"{RECORDING}*"))
            seen.append([taken, resident(), kept])
            done = until
    return seen


def resident() -> int:
    """Bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def watch(mode: str, folder: Path) -> AbstractContextManager[object]:
    if mode == "plain":
        return nullcontext()
    return audit(record=folder / RECORDING if mode == "record" else None)


if __name__ == "__main__":
    mode, steps, into = sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3])
    print(json.dumps(train(watch(mode, into), steps, into)))
