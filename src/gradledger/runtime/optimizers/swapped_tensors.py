"""Lets torch swap tensors that are in the books.

`torch.utils.swap_tensors` exchanges the contents of two tensors: `module.double()` calls it if
`torch.__future__.set_swap_module_params_on_conversion` is set, and always for tensor subclasses. It
refuses tensors with weak references, whose owners might mean the contents that go. Ours mean the
object that the program holds, and that stays.
"""

from __future__ import annotations

import weakref
from types import ModuleType
from typing import Any

import torch.utils
from torch import Tensor

from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Function, Patches
from gradledger.runtime.tensors.weak_references import TensorRef


class SwappedTensors:
    """Hides our references from torch, and knows a swapped gradient again."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def watch(self, patches: Patches) -> None:
        """Until the patches are closed."""
        if hasattr(torch.utils, "swap_tensors"):  # torch 2.2 has none
            patches.set(torch.utils, "weakref", _WITHOUT_OURS)
            patches.everywhere(torch.utils, {"swap_tensors": self._around})

    def _around(self, real: Function) -> Function:
        def swap_tensors(t1: Any, t2: Any) -> Any:
            before = self._states(t1, t2)
            result = real(t1, t2)
            if before is not None:
                self._swapped(before, t1, t2)
            return result

        return swap_tensors

    @unfailing
    def _states(self, *swapped: Tensor) -> list[tuple[int, int]]:
        return [(id(tensor), tensor._version) for tensor in swapped]

    @unfailing
    def _swapped(self, before: list[tuple[int, int]], *swapped: Tensor) -> None:
        """A gradient that was converted looks new, but nothing was deposited."""
        now = dict(zip(before, self._states(*swapped) or (), strict=True))
        with self.journal.entering:
            seen = self.journal.cells.seen
            for slot, state in enumerate(seen):
                if state is not None and state in now:
                    seen[slot] = now[state]


def _weakrefs_of_others(thing: Any) -> list[Any]:
    return [ref for ref in weakref.getweakrefs(thing) if type(ref) is not TensorRef]


_WITHOUT_OURS = ModuleType("weakref")
"""What the functions of `torch.utils` take for that module."""
_WITHOUT_OURS.__dict__.update(vars(weakref), getweakrefs=_weakrefs_of_others)
