"""Handles each gradient as it arrives in its cell, while backward goes on (by hooks)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from weakref import ref

import torch
from torch import Tensor
from torch.utils.hooks import RemovableHandle


class Arrivals:
    """Hooks on parameters. They call `handle` inside `backward`, and do nothing at other times."""

    def __init__(self, handle: Callable[[Tensor], None]) -> None:
        self._handle = handle
        self._hooked: dict[int, RemovableHandle] = {}
        """By id. The handle's own number tells whose it is: Python reuses ids."""
        self._active = False

    def backward(self, loss: Tensor, inputs: Sequence[Tensor], *, retain_graph: bool) -> None:
        """Walks back, and has each gradient handled when it is complete."""
        self._hook(inputs)
        with self._handling():
            torch.autograd.backward((loss,), retain_graph=retain_graph, inputs=inputs)
            self._handle_unhooked(inputs)

    @contextmanager
    def _handling(self) -> Iterator[None]:
        self._active = True
        try:
            yield
        finally:
            self._active = False

    def _arrived(self, p: Tensor) -> None:
        if self._active and p.grad is not None:
            self._handle(p)

    def _handle_unhooked(self, inputs: Sequence[Tensor]) -> None:
        """Parameters whose hook torch has lost: it does when it swaps tensors' contents."""
        for p in inputs:
            if p.grad is not None:
                self._handle(p)
                del self._hooked[id(p)]
                # Or a new one would not be called, either.
                p._post_accumulate_grad_hooks = None  # type: ignore[assignment]

    def _hook(self, inputs: Sequence[Tensor]) -> None:
        me = ref(self)

        def arrived(p: Tensor) -> None:
            arrivals = me()
            if arrivals is not None:
                arrivals._arrived(p)

        for p in inputs:
            # No weak reference: torch would not swap the contents of a tensor that has one.
            hooked = self._hooked.get(id(p))
            if hooked is None or hooked.id not in (p._post_accumulate_grad_hooks or ()):
                self._hooked[id(p)] = p.register_post_accumulate_grad_hook(arrived)  # type: ignore[no-untyped-call]
