"""One training loop for every wrapper: windows of four, right or with one planted fault."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from torch.utils.data import DataLoader, TensorDataset

WINDOW, ROWS, WINDOWS, EPOCHS = 4, 3, 3, 2

FAULTS = {
    "no zero_grad": ("GL101", "the step"),
    "not divided": ("GL301", "the backward"),
    "left over": ("GL203", "the backward"),
    "clip after the step": ("GL501", "the late clip"),
    "clip on scaled gradients": ("GL401", "the clip"),
    "no sync at all": ("GL801", "the step"),
    "sync in each micro-batch": ("GL802", "the backward"),
}
"""What breaks which rule, at the line with which comment."""
OF_SYNC = ("no sync at all", "sync in each micro-batch")

OPTIONS = ((), ("clip",), ("zeros",), ("clip", "scaler"), ("one by one",))
"""What is right: a clip, a clear to zeros, a scaler that unscales, windows of one."""


def data(batches: int) -> DataLoader[tuple[Tensor, ...]]:
    torch.manual_seed(1)
    rows = TensorDataset(torch.randn(batches * ROWS, 4), torch.randn(batches * ROWS, 2))
    return DataLoader(rows, batch_size=ROWS)


def syncing(model: Any, sync: bool) -> AbstractContextManager[None]:
    """Has the next pass reduce gradients over the ranks or not, as each wrapper is told so."""
    if hasattr(model, "set_requires_gradient_sync"):
        model.set_requires_gradient_sync(sync)
        if getattr(model, "stays_whole", False):
            model.set_reshard_after_backward(sync)
    elif hasattr(model, "no_sync") and not sync:
        return model.no_sync()  # type: ignore[no-any-return]
    return nullcontext()


def train(model: Any, optimizer: Any, how: Iterable[str]) -> int:
    """How many backward passes were made."""
    how, passes, loss_fn = set(how), 0, nn.MSELoss()
    window = 1 if "one by one" in how else WINDOW
    of_model = hasattr(model, "clip_grad_norm_")  # FSDP1 has to exchange the norm
    clip: Any = model.clip_grad_norm_ if of_model else nn.utils.clip_grad_norm_
    scaled = bool(how & {"scaler", "clip on scaled gradients"})
    kind: Any = ShardedGradScaler if of_model else torch.amp.GradScaler
    scaler = kind("cpu", init_scale=8.0, enabled=scaled)
    for _ in range(EPOCHS):
        for i, (x, y) in enumerate(data(window * WINDOWS + 2 * ("left over" in how))):
            last = i % window == window - 1
            sync = last and "no sync at all" not in how
            with syncing(model, sync or "sync in each micro-batch" in how):
                loss = loss_fn(model(x), y)
                if "not divided" not in how:
                    loss = loss / window
                scaler.scale(loss).backward()  # the backward
            passes += 1
            if last:
                if "scaler" in how:
                    scaler.unscale_(optimizer)
                if how & {"clip", "clip on scaled gradients"}:
                    clip(*([] if of_model else [model.parameters()]), 1.0)  # the clip
                scaler.step(optimizer)  # the step
                scaler.update()
                if "clip after the step" in how:
                    clip(*([] if of_model else [model.parameters()]), 1.0)  # the late clip
                if "no zero_grad" not in how:
                    optimizer.zero_grad(set_to_none="zeros" not in how)
    return passes
