"""Autograd graphs: the nodes behind a tensor, the leaves they end in, and notes on nodes.

A note lives in the node's own metadata, so it goes when the graph goes and keeps nothing alive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter, methodcaller
from types import FunctionType, MethodType
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.graph import Node, get_gradient_edge

from gradledger.runtime.program.objects import elements, is_a
from gradledger.runtime.tensors.torch_names import private

_OURS = "gradledger"
_HOOKS = "whether a hook changes a gradient isn't known, so it is taken for granted"
with torch.inference_mode(False):
    _NODE = get_gradient_edge(torch.zeros((), device="cpu", requires_grad=True)).node
_OF_LEAVES = type(_NODE)
number_of: Callable[[Node], int] = (
    methodcaller("_sequence_nr")
    if private(
        _NODE,
        "_sequence_nr",
        None,
        unseen="who carries a freed graph along isn't told, nor what held memory where it ran out",
    )
    else lambda node: 0
)
"""Counts the nodes in the order in which they were made; 0 where torch doesn't."""
_hooks_of: Callable[[Tensor], dict[int, Any] | None] = (
    attrgetter("_backward_hooks")
    if private(Tensor, "_backward_hooks", None, unseen=_HOOKS)
    else lambda leaf: {0: None}  # some that may change what arrives
)

_SUMS = {"AddBackward0", "SubBackward0"}
_MULTIPLES = {"MulBackward0", "DivBackward0"}

MOST_NODES = 100_000
"""A larger graph is looked at in part."""


def nodes(roots: Iterable[Tensor], most: int = MOST_NODES) -> dict[Node, None]:
    """Every node behind these tensors."""
    found: dict[Node, None] = {}
    waiting = [root.grad_fn for root in roots if root.grad_fn is not None]
    while waiting and len(found) < most:
        node = waiting.pop()
        if node not in found:
            found[node] = None
            waiting += [behind for behind, _ in node.next_functions if behind is not None]
    return found


def leaf_of(node: Node) -> Tensor | None:
    """The leaf whose node it is. A node of the program's own may bear a `variable`, too."""
    return node.variable if type(node) is _OF_LEAVES else None  # type: ignore[attr-defined]


def leaves(roots: Iterable[Tensor], graph: Iterable[Node]) -> list[Tensor]:
    """The leaves that a backward pass from the roots can reach, each once."""
    found = [root for root in roots if root.is_leaf and root.requires_grad]
    found += [leaf for node in graph if (leaf := leaf_of(node)) is not None]
    return list({id(leaf): leaf for leaf in found}.values())


def terms(root: Tensor) -> list[Tensor]:
    """Scalar leaves that are only added to a loss, such as the zero that a sum begins with.

    What arrives in them is a constant, which is of no use.
    """
    found, waiting = list[Tensor](), [root.grad_fn]
    while waiting and (node := waiting.pop()) is not None:
        behind = [one for one, _ in node.next_functions if one is not None]
        if type(node).__name__ in _SUMS:
            ends = (leaf for one in behind if (leaf := leaf_of(one)) is not None)
            found += [leaf for leaf in ends if leaf.numel() == 1 and not are_hooked(leaf)]
            waiting += behind
        elif type(node).__name__ in _MULTIPLES and len(behind) == 1:  # by a number
            waiting += behind
    return found


def note(node: Node | None, key: str, value: object) -> None:
    """Put a note on a node. Leaves' nodes outlast graphs: none on those."""
    if node is not None and type(node) is not _OF_LEAVES:
        _metadata(node).setdefault(_OURS, {})[key] = value


def note_on_root(node: Node, key: str, value: object) -> None:
    """The same for the last node of a loss, which is no leaf's."""
    metadata = _metadata(node)
    ours = metadata.get(_OURS)
    if ours is None:
        metadata[_OURS] = {key: value}
    else:
        ours[key] = value


def noted(node: Node, key: str) -> Any:
    """What a node bears under this key, or None."""
    ours = _metadata(node).get(_OURS)
    return None if ours is None else ours.get(key)


def _metadata(node: Node) -> dict[str, Any]:
    metadata: Any = node.metadata  # a method to the type checker, a dict in truth
    return cast("dict[str, Any]", metadata)


def tensors(value: object) -> Iterator[Tensor]:
    """The tensors in an argument or a result."""
    if is_a(value, Tensor):
        yield value
    elif not is_a(value, set):
        for part in elements(value) or ():
            yield from tensors(part)


def are_hooked(leaf: Tensor) -> bool:
    """Whether hooks of the program's may change what arrives in a leaf. Our own only look."""
    return any(not _is_ours(hook) for hook in (_hooks_of(leaf) or {}).values())


def _is_ours(hook: object) -> bool:
    function = hook.__func__ if isinstance(hook, MethodType) else hook
    return type(function) is FunctionType and function.__module__.startswith(f"{_OURS}.")
