"""What went through a model last: to go back from, or to go through once more."""

from __future__ import annotations

import sys
from typing import Any
from weakref import finalize, ref

import torch
from torch import Tensor, nn


class Forwards:
    """The forwards of this micro-batch; when it has none yet, those of the one before."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._inputs: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self._outputs: list[Any] = []
        self._before: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self.inside = False
        """A forward has begun, and not ended."""
        self.failure = ""
        self._repeating = False
        self._buffers: list[tuple[Tensor, Tensor]] = []
        me = ref(self)  # the model outlives a Stepper

        def enter(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if (forwards := me()) is not None:
                forwards._enter(args, kwargs)

        def leave(model: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            if (forwards := me()) is not None:
                forwards._leave(output)

        # First of all and last of all: before FSDP2 begins, and when it is done.
        handles = (
            model.register_forward_pre_hook(enter, with_kwargs=True, prepend=True),
            model.register_forward_hook(leave, always_call=True),
        )
        for handle in handles:
            finalize(self, handle.remove)

    def outputs(self) -> list[Tensor]:
        """What came out, with a graph to walk back."""
        from torch.utils._pytree import tree_leaves  # private: only who has ranks needs it

        return [
            leaf
            for output in self._outputs
            for leaf in tree_leaves(output)
            if isinstance(leaf, Tensor) and leaf.requires_grad
        ]

    def again(self) -> list[Tensor]:
        """Puts the inputs of the micro-batch before through the model; what came out.

        Nobody asked for this forward: what the model draws and counts in it is put back.
        """
        from torch.utils._pytree import tree_map

        self._buffers = [(buffer, buffer.clone()) for buffer in self._model.buffers()]
        self._repeating = True
        try:
            with torch.random.fork_rng(), torch.enable_grad():
                for args, kwargs in self._before:
                    args, kwargs = tree_map(_harmless, (args, kwargs))
                    self._outputs.append(self._model(*args, **kwargs))
        finally:
            self._repeating = False
        return self.outputs()

    def done(self) -> None:
        """The micro-batch has had its backward."""
        if self._inputs:
            self._before = self._inputs
        self._inputs, self._outputs, self.inside = [], [], False
        buffers, self._buffers = self._buffers, []
        with torch.no_grad():
            for buffer, value in buffers:  # only now: the backward had use for them
                buffer.copy_(value)

    def _enter(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if torch.is_grad_enabled() and not self._repeating:
            self.inside = True
            self._inputs.append((args, kwargs))

    def _leave(self, output: Any) -> None:
        if not torch.is_grad_enabled() or self._repeating:
            return
        error = sys.exc_info()[1]
        if error is not None:
            self.failure = f"{type(error).__name__}: {error}"
            return
        self.inside = False
        self._outputs.append(output)


def _harmless(leaf: Any) -> Any:
    """Without NaN and Inf, which zero times them would not be."""
    if isinstance(leaf, Tensor) and leaf.is_floating_point():
        return leaf.detach().nan_to_num(0.0, 0.0, 0.0)
    return leaf
