"""How many backward passes a process has made, seen or not."""

from __future__ import annotations

import torch


def backward_count() -> int:
    """All so far, those of `autograd.grad` too, by the number that torch gives to the next one.

    It makes one itself for that, of one number; so only for who has not watched.
    """
    numbers: list[int] = []
    with torch.inference_mode(False), torch.enable_grad():
        leaf = torch.zeros((), device="cpu", requires_grad=True)
        root = leaf.view(())
        root.register_hook(lambda _: numbers.append(torch._C._current_graph_task_id()))  # type: ignore[no-untyped-call]
        torch.autograd.grad(root, leaf)
    return numbers[0]
