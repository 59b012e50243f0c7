"""What a process does before it trains. Until then it is not audited, and costs nothing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import torch

from gradledger.runtime.journal.patches import Function, Patches


class Triggers:
    """Calls `fired` once, as soon as this process begins to train, and is gone before that."""

    def __init__(self, fired: Callable[[], None]) -> None:
        self._fired = fired
        self._patches = Patches()
        self._lock = threading.Lock()
        for owner, name in _first_calls():
            # Which rank this is can be asked when the process group is there.
            wrap = self._after if name == "init_process_group" else self._around(owner, name)
            self._patches.around(owner, name, wrap)

    def close(self) -> None:
        """No one is called any more."""
        self._patches.close()

    def _around(self, owner: Any, name: str) -> Callable[[Function], Function]:
        def wrapper(real: Function) -> Function:
            def first_call(*args: Any, **kwargs: Any) -> Any:
                self._fire()
                # What is there now may be watched; another thread may be about to exchange it.
                now = getattr(owner, name)
                return (real if now is first_call else now)(*args, **kwargs)

            return first_call

        return wrapper

    def _after(self, real: Function) -> Function:
        def first_call(*args: Any, **kwargs: Any) -> Any:
            result = real(*args, **kwargs)
            self._fire()
            return result

        return first_call

    def _fire(self) -> None:
        if self._lock.acquire(blocking=False):  # once, for good
            self.close()
            self._fired()


def _first_calls() -> list[tuple[Any, str]]:
    """A loop goes over a loader, or makes an optimizer, before its first backward pass."""
    found: list[tuple[Any, str]] = [
        (torch.autograd, "backward"),
        (torch.optim.Optimizer, "__init__"),
        (torch.utils.data.DataLoader, "__iter__"),
    ]
    distributed = sys.modules.get("torch.distributed")
    if hasattr(distributed, "init_process_group"):  # some builds of torch have none
        found.append((distributed, "init_process_group"))
    by_rpc = sys.modules.get("torch.distributed.autograd")
    if hasattr(by_rpc, "backward"):
        found.append((by_rpc, "backward"))
    return found
