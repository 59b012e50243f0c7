"""Autograd graphs: the nodes behind a tensor, the leaves they end in, and marks on nodes.

A mark lives in the node's own metadata, so it goes when the graph goes and keeps nothing alive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from torch import Tensor
from torch.autograd.graph import Node

_OURS = "gradledger.observer"


def nodes(roots: Iterable[Tensor]) -> list[Node]:
    """Every node behind these tensors."""
    found: dict[Node, None] = {}
    waiting = [root.grad_fn for root in roots if root.grad_fn is not None]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found[node] = None
            waiting += [behind for behind, _ in node.next_functions if behind is not None]
    return list(found)


def leaves(roots: Iterable[Tensor], graph: Iterable[Node]) -> list[Tensor]:
    """The leaves that a backward pass from the roots can reach, each once."""
    found = [root for root in roots if root.is_leaf and root.requires_grad]
    found += [node.variable for node in graph if hasattr(node, "variable")]
    return list({id(leaf): leaf for leaf in found}.values())


def mark(node: Node | None, key: str, value: Any) -> None:
    """Put a mark on a node; it may bear several of one kind. Leaves' nodes outlast graphs: none."""
    if node is not None and not hasattr(node, "variable"):
        _metadata(node).setdefault(_OURS, {}).setdefault(key, []).append(value)


def marks(node: Node, key: str) -> list[Any]:
    """The marks of one kind on a node."""
    found: list[Any] = _metadata(node).get(_OURS, {}).get(key, [])
    return found


def _metadata(node: Node) -> dict[str, Any]:
    metadata: Any = node.metadata  # a method to the type checker, a dict in truth
    return cast("dict[str, Any]", metadata)


def tensors(value: object) -> Iterator[Tensor]:
    """The tensors in what a module was given or gave back."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from tensors(part)
