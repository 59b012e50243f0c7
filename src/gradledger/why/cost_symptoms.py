"""What people see in memory and time."""

from __future__ import annotations

from gradledger.why.causes import (
    GRAPH_KEPT,
    STATE_KEPT,
)
from gradledger.why.entry import Cause, Entry

COST: tuple[Entry, ...] = (
    Entry(
        "out-of-memory",
        "Out of memory after N steps",
        "The first steps fit, and memory grows until nothing is left: something keeps the graphs "
        "of "
        "earlier iterations alive.",
        (
            GRAPH_KEPT,
            STATE_KEPT,
            Cause(
                "`retain_graph=True` keeps a graph that nothing uses again",
                "leave `retain_graph` out",
                "GL703",
            ),
            Cause(
                "gradients are summed in parameters that no optimizer owns",
                "freeze them with `requires_grad_(False)`",
                "GL601",
            ),
            Cause(
                "nothing grows: it fails in the first iterations, because the batch doesn't fit",
                "take smaller micro-batches and accumulate them: `Stepper(…, accumulate=N)`",
            ),
        ),
        messages=(
            "CUDA out of memory",
            "OutOfMemoryError",
            "HIP out of memory",
            "XPU out of memory",
            "MPS backend out of memory",
            "DefaultCPUAllocator: …allocate memory",
        ),
        words=("oom memory ram vram usage grows leak increases iteration cuda gpu killed",),
    ),
    Entry(
        "slower-each-step",
        "Each iteration is slower than the last",
        "The backward pass walks a graph that grows with every iteration.",
        (STATE_KEPT, GRAPH_KEPT),
        words=(
            "training gets slower and slower over time slows down iteration time grows increases",
            "each epoch takes longer",
        ),
    ),
    Entry(
        "slow-training",
        "Training is slow",
        "Work is done that no step uses, or done more often than needed.",
        (
            Cause(
                "gradients are computed for parameters that never use them",
                "freeze them for that backward pass, or name `inputs=` in it",
                "GL204",
            ),
            Cause(
                "ranks average gradients for each micro-batch of a window",
                "run all but the last micro-batch under `model.no_sync()`",
                "GL802",
            ),
            Cause(
                "many small parameters: clear, clip and step cost one operation per tensor",
                "use `fused=True` or `foreach=True`, or `gradledger.Stepper`, which packs them",
            ),
        ),
        words=("slow training speed gpu idle utilization low ddp slower than single gpu",),
    ),
    Entry(
        "slow-zero-grad",
        "zero_grad is slow",
        "Clearing to zeros writes every gradient, one operation per tensor. Since torch 2.0 the "
        "default "
        "is None, which writes nothing.",
        (
            Cause(
                "`zero_grad(set_to_none=False)` writes zeros into every tensor",
                "leave `set_to_none` at its default; code that reads `.grad` must then expect None",
            ),
            Cause(
                "what is measured is the wait for the device: `zero_grad()` comes after work that "
                "is "
                "still running on the GPU",
                "call `torch.cuda.synchronize()` before and after what you measure",
            ),
        ),
        words=("slow zero_grad set_to_none zeroing gradients takes time",),
    ),
)
