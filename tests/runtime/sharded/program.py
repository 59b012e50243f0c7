"""Runs each case on this rank, plain and audited: `program.py FOLDER`."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode

import gradledger
from tests.runtime.sharded.cases import CASES, COUNTED
from tests.runtime.sharded.loop import train
from tests.runtime.sharded.wrappers import WRAPPERS, Net, optimizer_of


class Exchanges(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts what the ranks tell each other."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if "c10d" in func.namespace:
            self.counts[str(func)] += 1
        return func(*args, **(kwargs or {}))


def trained(wrapper: str, how: tuple[str, ...]) -> tuple[int, list[Tensor], dict[str, int]]:
    """How many passes were made, what became of the parameters, and what the ranks exchanged."""
    torch.manual_seed(0)
    model = WRAPPERS[wrapper](Net())
    optimizer = optimizer_of(wrapper, model)
    exchanges = Exchanges()
    # Not always: under such a mode torch can't read numbers out of a graph.
    with exchanges if how in COUNTED else nullcontext():
        passes = train(model, optimizer, how)
    values = [p.to_local() if isinstance(p, DTensor) else p for p in model.parameters()]
    return passes, [value.detach().clone() for value in values], dict(exchanges.counts)


def audited(wrapper: str, how: tuple[str, ...]) -> dict[str, Any]:
    _, plain, plainly = trained(wrapper, how)
    with gradledger.audit() as book:
        passes, values, exchanged = trained(wrapper, how)
    if book.journal.failure is not None:
        raise book.journal.failure
    return {
        "passes": passes,
        "parameters": len(values),
        "findings": [f"{f.rule} {Path(f.at.path).name}:{f.at.line}" for f in book.findings],
        "details": [f.detail for f in book.findings],
        "tally": book.tally._asdict(),
        "unseen": [one.phrase for one in book.verdict("").unseen],
        "same": all(map(torch.equal, plain, values)),
        "exchanged": [plainly, exchanged],
    }


def main() -> None:
    folder, *wanted = sys.argv[1:]
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo")
    told: dict[str, Any] = {}
    for name, (wrapper, how) in CASES.items():
        if not wanted or name in wanted:
            try:
                told[name] = audited(wrapper, how)
            except Exception as error:
                raise RuntimeError(f"in {name}") from error
    Path(folder, f"rank{os.environ['RANK']}").write_text(json.dumps(told))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
