"""What a window costs on many ranks: collectives and bytes, and time, next to the loops by hand.

`python -m benchmarks.bench_ranks` starts two ranks on this machine, by torchrun, over gloo.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from gradledger import Stepper

WIDTH, DEPTH, ROWS, ACCUMULATE = 512, 6, 16, 4
WINDOWS, ROUNDS = 2, 12
Window = Callable[[], None]


class Traffic(TorchDispatchMode):
    """Counts collectives of this rank, and the bytes that it hands over to them."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace in ("c10d", "_c10d_functional") and "wait" not in func.__name__:
            name = func.__name__.split(".")[0].strip("_")
            tensors = [leaf for leaf in tree_leaves(args[:1]) if isinstance(leaf, Tensor)]
            self.calls[name] += 1
            self.bytes[name] += sum(t.numel() * t.element_size() for t in tensors)
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


WAYS: dict[str, Callable[[], Window]] = {
    "DDP by hand, no_sync": lambda: by_hand(no_sync=True),
    "DDP by hand, without no_sync": lambda: by_hand(no_sync=False),
    "DDP, Stepper": with_stepper,
    "DDP, Accelerate": with_accelerate,
    "DDP, Fabric": with_fabric,
    "FSDP2 by hand": lambda: with_fsdp(stepper=False),
    "FSDP2, Stepper": lambda: with_fsdp(stepper=True),
}


def on_each_rank() -> None:
    """Measures all ways in turn; rank 0 prints."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    ready: dict[str, Window] = {}
    for name, make in WAYS.items():
        ready[name] = make()
        for _ in range(WINDOWS):
            ready[name]()  # buckets are arranged, moments are there
    times: dict[str, list[float]] = {name: [] for name in ready}
    for _ in range(ROUNDS):
        for name, window in ready.items():
            dist.barrier()
            start = time.perf_counter()
            window()
            times[name].append(time.perf_counter() - start)
    lines = []
    for name, window in ready.items():
        with Traffic() as traffic:
            window()
        calls = ", ".join(f"{count} {kind}" for kind, count in sorted(traffic.calls.items()))
        base = times["FSDP2 by hand" if "FSDP2" in name else "DDP by hand, no_sync"]
        ratio = statistics.median(a / b for a, b in zip(times[name], base, strict=True))
        size = sum(traffic.bytes.values()) / 1e6
        lines.append(f"  {name:<30} x{ratio:<5.2f} {size:8.2f} MB in  {calls}")
    if dist.get_rank() == 0:
        elements = sum(p.numel() for p in model().parameters())
        print(
            f"\nA window of {ACCUMULATE} on 2 ranks, gloo; {4 * elements / 1e6:.2f} MB of weights"
        )
        print(*lines, sep="\n")
    dist.barrier()
    dist.destroy_process_group()


def main() -> None:
    """Starts two ranks."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node=2", "-m", "benchmarks.bench_ranks"]
    subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=True, timeout=600)


if __name__ == "__main__":
    on_each_rank() if "RANK" in os.environ else main()
