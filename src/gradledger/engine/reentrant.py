"""Graphs that hide a part of themselves: a node that walks back by itself, inside of the walk.

`torch.utils.checkpoint` with `use_reentrant=True` does that, and what other libraries have made
after it. The parameters of the hidden part are in no graph that the engine sees. Told by `inputs=`
where to go, it goes past such a node, and says nothing. So here it is told nothing, and every cell
that is not ours is put back as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from sys import getrefcount
from threading import Lock
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction, Function
from torch.utils.checkpoint import CheckpointFunction


class _Unused(Function):
    """As the checkpoint's own, and never in any graph."""


_NODE: type | None = getattr(CheckpointFunction, "_backward_cls", None)
_UNUSED: type | None = getattr(_Unused, "_backward_cls", None)
_AT_REST = getrefcount(_UNUSED)
_PATCHING = Lock()
_task: Callable[[], int] = getattr(torch._C, "_current_graph_task_id", lambda: 0)


def suspected() -> bool:
    """Whether torch's own checkpoint is in any graph at all. Quick.

    Every node holds its class, so that their number is known without a look at any graph.
    """
    return _NODE is None or getrefcount(_NODE) != _AT_REST


def hides_a_part(loss: Tensor) -> bool:
    """Whether there is such a node in the graph of this loss. Goes through all of it."""
    return any(map(_walks_back, _nodes([loss])))


def walk_whole(loss: Tensor, inputs: Sequence[Tensor], *, retain_graph: bool) -> None:
    """Into the cells of the inputs, also from the hidden parts. All others come out as they were.

    What a part hides is seen when it walks back: through the front door, which is ours meanwhile.
    """
    others = _Others(inputs)
    with _PATCHING:
        front_door = torch.autograd.backward

        def backward(tensors: Any, *args: Any, **kwargs: Any) -> None:
            if _task() != -1:  # else it is another thread's, and no part of this
                others.set_aside([tensors] if isinstance(tensors, Tensor) else tensors)
            front_door(tensors, *args, **kwargs)

        others.set_aside([loss])
        torch.autograd.backward = backward
        try:
            front_door((loss,), retain_graph=retain_graph)
        finally:
            torch.autograd.backward = front_door
            others.put_back()


class _Others:
    """Cells that are not ours."""

    def __init__(self, ours: Iterable[Tensor]) -> None:
        self._known = set(map(id, ours))
        self._held: list[tuple[Tensor, Tensor | None]] = []

    def set_aside(self, roots: Iterable[Any]) -> None:
        """Empties those that a walk back from here deposits into."""
        for node in _nodes(roots):
            leaf: Tensor | None = getattr(node, "variable", None)
            if leaf is not None and id(leaf) not in self._known:
                self._known.add(id(leaf))
                self._held.append((leaf, leaf.grad))
                leaf.grad = None

    def put_back(self) -> None:
        for leaf, grad in self._held:
            leaf.grad = grad


def _nodes(roots: Iterable[Any]) -> Iterator[Any]:
    """All of a graph, each once."""
    waiting = [root.grad_fn for root in roots if isinstance(root, Tensor)]
    seen = set()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            yield node
            waiting.extend(each for each, _ in node.next_functions)


def _walks_back(node: object) -> bool:
    """By what it is called, or by what it calls."""
    if not isinstance(node, BackwardCFunction):
        return False
    forward = getattr(type(node), "_forward_cls", None)
    code = getattr(getattr(forward, "backward", None), "__code__", None)
    return "checkpoint" in type(node).__name__.lower() or "backward" in getattr(
        code, "co_names", ()
    )
