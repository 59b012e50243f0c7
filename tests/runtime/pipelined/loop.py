"""One training loop for every schedule of a pipeline: right or with one planted fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
)

CHUNKS, ROWS, STEPS = 4, 12, 5
CPU = torch.device("cpu")

SCHEDULES: dict[str, tuple[int, Callable[..., Any]]] = {
    "GPipe": (1, ScheduleGPipe),
    "1F1B": (1, Schedule1F1B),
    "interleaved 1F1B": (2, ScheduleInterleaved1F1B),
    "zero bubble": (2, ScheduleInterleavedZeroBubble),
}
"""How many stages each rank has, and the schedule."""

FAULTS = {
    "no zero_grad": ("GL101", "the step"),
    "not divided": ("GL301", "the pass"),
    "cleared inside the window": ("GL201", "the early clear"),
    "clip after the step": ("GL501", "the late clip"),
}
"""What breaks which rule, at the line with which comment."""

OPTIONS = ((), ("clip",), ("two passes a window",))
"""What is right."""


def parts(of_each: int) -> list[nn.Linear]:
    """The stages of this rank, of which the first has 4 inputs and the last 2 outputs."""
    torch.manual_seed(0)
    count = of_each * dist.get_world_size()
    widths = [4, *[8] * (count - 1), 2]
    layers = [nn.Linear(widths[i], widths[i + 1]) for i in range(count)]
    return layers[dist.get_rank() :: dist.get_world_size()]


def train(name: str, how: tuple[str, ...]) -> tuple[int, list[Tensor]]:
    """How many backward passes this rank made, and its parameters."""
    of_each, kind = SCHEDULES[name]
    rank, world = dist.get_rank(), dist.get_world_size()
    layers = parts(of_each)
    stages = [
        PipelineStage(layer, rank + world * i, world * of_each, CPU)
        for i, layer in enumerate(layers)
    ]
    schedule = kind(
        stages if of_each > 1 else stages[0],
        CHUNKS,
        loss_fn=nn.MSELoss(),
        scale_grads="not divided" not in how,
    )
    parameters: list[Tensor] = [parameter for layer in layers for parameter in layer.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9, foreach=False)
    torch.manual_seed(1)
    passes = 0
    twice = bool({"two passes a window", "cleared inside the window"} & set(how))
    for _ in range(STEPS):
        for half in range(1 + twice):
            given = [torch.randn(ROWS, 4)] if rank == 0 else []
            target = {"target": torch.zeros(ROWS, 2)} if rank == world - 1 else {}
            schedule.step(*given, **target)  # the pass
            passes += CHUNKS * of_each
            if "cleared inside the window" in how and not half:
                optimizer.zero_grad()  # the early clear
        if "two passes a window" in how:
            for parameter in parameters:
                assert parameter.grad is not None
                parameter.grad /= 2
        if "clip" in how:
            nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()  # the step
        if "clip after the step" in how:
            nn.utils.clip_grad_norm_(parameters, 1.0)  # the late clip
        if "no zero_grad" not in how:
            optimizer.zero_grad()
    return passes, parameters
