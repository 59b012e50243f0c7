"""Where torch can't be asked for fewer gradients than a plain loop asks it for.

`inputs=` lets the engine leave out what nobody wants. GroupNorm's backward on CPU then crashes the
process (torch 2.13 and before): in channels_last, asked for its weight or bias and not for its
input. It is the only one of torch's layers that does; tests/engine/test_group_norms.py asks them
all. A plain loop gets there only if the input needs no gradient at all.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from torch import Tensor, nn
from torch.autograd.graph import Node

NODE = "NativeGroupNormBackward0"


def may_occur(model: nn.Module, loss: Tensor) -> bool:
    """Whether GroupNorm is a layer of the model, or in the graph of this loss. Not quick."""
    return any(isinstance(layer, nn.GroupNorm) for layer in model.modules()) or any(
        node.name() == NODE for node in _order(loss)
    )


def asks_for_less(loss: Tensor, inputs: Collection[Tensor]) -> bool:
    """Whether a plain loop would compute the gradient of a GroupNorm's input, and `inputs=` not."""
    return any(_is_risky(node) for node in _left_out(loss, inputs))


def _is_risky(node: Any) -> bool:
    try:
        return not node._saved_input.is_contiguous()
    except RuntimeError:  # it is not there before the backward
        return True


def _left_out(loss: Tensor, inputs: Collection[Tensor]) -> list[Node]:
    """The GroupNorms behind whose input there are leaves, and none of ours."""
    ours = set(map(id, inputs))
    found: list[Node] = []
    leads: dict[Node, bool] = {}
    """Whether a way leads from this node to one of ours."""
    for node in _order(loss):  # those behind it come before it
        leaf = getattr(node, "variable", None)
        behind = [each for each, _ in node.next_functions if each is not None]
        leads[node] = id(leaf) in ours or any(leads[each] for each in behind)
        if node.name() == NODE and (first := node.next_functions[0][0]) is not None:
            found += [] if leads[first] else [node]
    return found


def _order(loss: Tensor) -> list[Node]:
    """All of the graph, each node behind those that it leads to."""
    order: list[Node] = []
    seen: set[Node] = set()
    waiting: list[tuple[Node | None, bool]] = [(loss.grad_fn, False)]
    while waiting:
        node, done = waiting.pop()
        if node is None:
            continue
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            waiting.append((node, True))
            waiting.extend((each, False) for each, _ in node.next_functions)
    return order
