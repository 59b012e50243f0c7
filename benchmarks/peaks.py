"""The most memory that a way of training needs at once."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from benchmarks.tasks import Task, Way


def of_gradients(task: Task, way: Way) -> int:
    """The most bytes of gradients that were alive at once, in three updates.

    The storage of each gradient is noted when it lands in its cell, and counts until it is freed,
    whoever holds it: a gradient that has left its cell and is still kept somewhere counts. A copy
    does not; `of_everything` sees those.
    """
    noted: dict[int, tuple[StorageWeakRef, int]] = {}
    peak = 0

    def note(parameter: Tensor) -> None:
        nonlocal peak
        if parameter.grad is not None:
            storage = parameter.grad.untyped_storage()
            ref = StorageWeakRef(storage)
            noted[ref.cdata] = ref, storage.nbytes()
        for key in [key for key, (ref, _) in noted.items() if ref.expired()]:
            del noted[key]
        peak = max(peak, sum(size for _, size in noted.values()))

    # Registered before the Stepper's own hooks, so that a gradient is seen before it is spent.
    def model() -> nn.Module:
        model = task.model()
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(note)
        return model

    way(replace(task, model=model), 1).run(task.data(3))
    return peak


def of_everything(task: Task, way: Way) -> int:
    """The most bytes that were allocated at once, from making the model to its third update.

    As torch's allocator saw it: parameters, moments, activations, and copies that somebody makes.
    """
    data = task.data(3)
    gc.collect()  # or what others have left is freed meanwhile, and taken off
    with _quiet(), torch.autograd.profiler.profile(profile_memory=True) as profile:
        way(task, 1).run(data)
    events = profile.kineto_results.events()
    sizes: list[int] = [event.nbytes() for event in events if event.name() == "[memory]"]
    return max(accumulate(sizes))


@contextmanager
def _quiet() -> Iterator[None]:
    """The profiler announces itself on stderr, from below Python."""
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


class LiveBytes(TorchDispatchMode):
    """Counts the bytes of all storages that were made inside it, for as long as they live."""

    def __init__(self) -> None:
        super().__init__()
        self._live: dict[int, tuple[StorageWeakRef, int]] = {}
        self.peak = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        known = {
            StorageWeakRef(each.untyped_storage()).cdata
            for each in tree_leaves((args, kwargs))
            if isinstance(each, Tensor)
        }
        out = func(*args, **(kwargs or {}))
        for key in [key for key, (ref, _) in self._live.items() if ref.expired()]:
            del self._live[key]
        for each in tree_leaves(out):
            if isinstance(each, Tensor):
                ref = StorageWeakRef(each.untyped_storage())
                if ref.cdata not in known:
                    self._live[ref.cdata] = ref, each.untyped_storage().nbytes()
        self.peak = max(self.peak, sum(size for _, size in self._live.values()))
        return out


def of_windows(task: Task, way: Way, window: int) -> int:
    """The most bytes at once that two windows add to what was there before them.

    Gradients, sums and copies of them, whoever holds them. The model is to have large weights and
    small activations, and an optimizer without state.
    """
    loop = way(task, window)
    data = task.data(2 * window)
    with LiveBytes() as live:
        loop.run(data)
    peak: int = live.peak
    return peak
