"""What a window costs on many ranks: collectives and bytes, and time, next to the loops by hand.

Two ranks are started on this machine, by torchrun, over gloo; each runs this module.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from benchmarks.measure import rows_of
from benchmarks.results import Cell, Ratios, Results, Row, Table, Verdicts, versions
from gradledger import Stepper

WIDTH, DEPTH, ROWS, ACCUMULATE = 512, 6, 16, 4
WINDOWS = 2  # to warm up
Window = Callable[[], None]
KINDS = {
    "allreduce_": "all-reduce",
    "all_reduce": "all-reduce",
    "_allgather_base_": "all-gather",
    "_reduce_scatter_base_": "reduce-scatter",
}
"""What collectives are called, by what torch calls them."""

ABOUT = """\
A window of 4 micro-batches on two ranks, which share the cores of one machine, over gloo. Next to \
the loop by hand that synchronises once a window; the one without `no_sync` does so in each \
micro-batch. Wall time, of the slower rank."""


class Traffic(TorchDispatchMode):
    """Counts collectives of this rank, and the bytes that it hands over to them."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if DTensor in types:
            return NotImplemented  # it goes first, and the collectives that it makes come here
        kind = KINDS.get(func.__name__.split(".")[0])
        if func.namespace in ("c10d", "_c10d_functional") and kind:
            tensors = [leaf for leaf in tree_leaves(args[:1]) if isinstance(leaf, Tensor)]
            self.calls[kind] += 1
            self.bytes[kind] += sum(t.numel() * t.element_size() for t in tensors)
        return func(*args, **(kwargs or {}))


def model() -> nn.Module:
    torch.manual_seed(0)
    layers = [m for _ in range(DEPTH) for m in (nn.Linear(WIDTH, WIDTH), nn.Tanh())]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 1))


def batches() -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(dist.get_rank())
    return [
        (torch.randn(ROWS, WIDTH, generator=generator), torch.randn(ROWS, 1, generator=generator))
        for _ in range(ACCUMULATE)
    ]


def by_hand(*, no_sync: bool) -> Window:
    net = DistributedDataParallel(model())
    optimizer, data = AdamW(net.parameters()), batches()

    def window() -> None:
        for i, (x, y) in enumerate(data):
            apart = no_sync and i + 1 < ACCUMULATE
            with net.no_sync() if apart else nullcontext():
                (mse_loss(net(x), y) / ACCUMULATE).backward()
        clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return window


def with_stepper() -> Window:
    net = DistributedDataParallel(model())
    stepper = Stepper(net, AdamW(net.parameters()), accumulate=ACCUMULATE, clip_norm=1.0)
    draws = stepper.over(forever(batches()))

    def window() -> None:
        for _ in range(ACCUMULATE):
            x, y = next(draws)
            stepper.backward(mse_loss(net(x), y), items=len(y))

    return window


def forever(data: list[tuple[Tensor, Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
    while True:
        yield from data


def with_accelerate() -> Window:
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=ACCUMULATE)
    inner = model()
    net, optimizer = accelerator.prepare(inner, AdamW(inner.parameters()))
    data = batches()

    def window() -> None:
        for x, y in data:
            with accelerator.accumulate(net):
                accelerator.backward(mse_loss(net(x), y))
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()

    return window


def with_fabric() -> Window:
    from lightning.fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=dist.get_world_size(), strategy="ddp")
    fabric.launch()
    inner = model()
    net, optimizer = fabric.setup(inner, AdamW(inner.parameters()))
    data = batches()

    def window() -> None:
        for i, (x, y) in enumerate(data):
            with fabric.no_backward_sync(net, enabled=i + 1 < ACCUMULATE):
                fabric.backward(mse_loss(net(x), y) / ACCUMULATE)
        fabric.clip_gradients(net, optimizer, max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()

    return window


def with_fsdp(*, stepper: bool) -> Window:
    from torch.distributed.fsdp import fully_shard

    net: Any = model()
    for layer in net:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    fully_shard(net)
    optimizer, data = AdamW(net.parameters()), batches()
    if stepper:
        steps = Stepper(net, optimizer, accumulate=ACCUMULATE, clip_norm=1.0)
        draws = steps.over(forever(data))

        def ours() -> None:
            for _ in range(ACCUMULATE):
                x, y = next(draws)
                steps.backward(mse_loss(net(x), y), items=len(y))

        return ours

    def window() -> None:
        for i, (x, y) in enumerate(data):
            net.set_requires_gradient_sync(i + 1 == ACCUMULATE)
            (mse_loss(net(x), y) / ACCUMULATE).backward()
        clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return window


WAYS: dict[str, dict[str, Callable[[], Window]]] = {
    "DDP": {
        "by hand, no_sync": lambda: by_hand(no_sync=True),
        "by hand, again (the noise)": lambda: by_hand(no_sync=True),
        "by hand, without no_sync": lambda: by_hand(no_sync=False),
        "Stepper": with_stepper,
        "Accelerate": with_accelerate,
        "Fabric": with_fabric,
    },
    "FSDP2": {
        "by hand": lambda: with_fsdp(stepper=False),
        "by hand, again (the noise)": lambda: with_fsdp(stepper=False),
        "Stepper": lambda: with_fsdp(stepper=True),
    },
}
PEERS = {"Accelerate": "accelerate", "Fabric": "lightning"}
"""By the package that has to be there."""


def on_each_rank(rounds: int, output: Path) -> None:
    """Measures all ways in turn; rank 0 writes down what was measured."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    measured = {kind: _measured(ways, rounds) for kind, ways in WAYS.items()}
    if dist.get_rank() == 0:
        output.write_text(json.dumps(measured), encoding="utf-8")
    dist.barrier()
    dist.destroy_process_group()


def _measured(ways: dict[str, Callable[[], Window]], rounds: int) -> dict[str, Any]:
    ready: dict[str, Window] = {}
    for name, make in ways.items():
        if name not in PEERS or find_spec(PEERS[name]):
            ready[name] = make()
            for _ in range(WINDOWS):
                ready[name]()  # buckets are arranged, moments are there
    times: dict[str, list[float]] = {name: [] for name in ready}
    for _ in range(rounds):
        for name, window in ready.items():
            dist.barrier()
            start = time.perf_counter()
            window()
            taken = torch.tensor(time.perf_counter() - start)
            dist.all_reduce(taken, dist.ReduceOp.MAX)
            times[name].append(taken.item())
    traffic: dict[str, tuple[int, str]] = {}
    for name, window in ready.items():
        with Traffic() as seen:
            window()
        calls = ", ".join(f"{count} {kind}" for kind, count in sorted(seen.calls.items()))
        traffic[name] = sum(seen.bytes.values()), calls
    return {"times": times, "traffic": traffic}


def results(quick: bool) -> Results:
    """Starts two ranks, and tells what they measured."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "measured.json")
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc-per-node=2", "-m", "benchmarks.suites.ranks"]
        command += ["4" if quick else "24", str(output)]
        subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=True, timeout=600)
        measured = json.loads(output.read_text(encoding="utf-8"))
    weights = 4 * sum(p.numel() for p in model().parameters())
    tables: dict[str, Table] = {}
    for kind, ways in WAYS.items():
        rows = {row.name: row for row in rows_of(measured[kind]["times"])}
        title = f"{kind}, a window of {ACCUMULATE}, {weights / 1e6:.2f} MB of weights"
        others = [name for name in ways if name != "Stepper" and "noise" not in name]
        told = [rows.get(name, Row.missing(name, "not installed")) for name in ways]
        tables[f"time.{kind}"] = Ratios(title, told, peers=others)
    tables["traffic"] = _traffic({kind: each["traffic"] for kind, each in measured.items()})
    return Results(
        "ranks",
        "Many ranks",
        ABOUT,
        tables,
        quick,
        versions=versions(["gradledger", "torch", *PEERS.values()]),
    )


def _traffic(measured: dict[str, dict[str, tuple[int, str]]]) -> Verdicts:
    cells = {
        f"{kind}, {name}": {
            "bytes": Cell(f"{size / 1e6:.2f} MB", None, size),
            "collectives": Cell(calls, None),
        }
        for kind, ways in measured.items()
        for name, (size, calls) in ways.items()
        if "noise" not in name
    }
    title = "What each rank hands over to collectives, in a window"
    return Verdicts(title, ["bytes", "collectives"], dict.fromkeys(cells, ""), cells)


if __name__ == "__main__":
    on_each_rank(int(sys.argv[1]), Path(sys.argv[2]))
