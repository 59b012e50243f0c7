"""Nobody else steps or clears inside a window: who tries is told, at the line where they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any
from weakref import ref

from torch.optim import Optimizer

from gradledger.engine.window import Window
from gradledger.errors import MisuseError


class Guard:
    """Watches over one optimizer, for as long as the Stepper that made it lives."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.window: Window | None = None
        """The window that is open, if any."""
        self._ours = False
        me = ref(self)
        optimizer.register_step_pre_hook(_step_hook(me))
        # An instance attribute, as schedulers set on `step`: pickling and deepcopy leave it out.
        optimizer.zero_grad = _guarded_zero_grad(optimizer.zero_grad, me)  # type: ignore[method-assign]

    @contextmanager
    def ours(self) -> Iterator[None]:
        """What happens inside is the Stepper's own doing."""
        self._ours = True
        try:
            yield
        finally:
            self._ours = False

    def check(self, call: str, consequence: str) -> None:
        """Raises MisuseError if a window is open, and the call is not ours."""
        window = self.window
        if window is not None and window.open and not self._ours:
            raise MisuseError(
                f"{call} was called inside a window, after {window.deposits} of {window.size} "
                f"micro-batches. {consequence} The Stepper does this by itself when the window is "
                "full: take the call out. To end the window now: stepper.flush(); to forget it: "
                "stepper.drop()."
            )


def _step_hook(guard: ref[Guard]) -> Callable[..., None]:
    def before_step(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        watching = guard()
        if watching is not None:
            watching.check("optimizer.step()", "It would spend half a window.")

    return before_step


def _guarded_zero_grad(zero_grad: Callable[..., None], guard: ref[Guard]) -> Callable[..., None]:
    @wraps(zero_grad)
    def guarded(*args: Any, **kwargs: Any) -> None:
        watching = guard()
        if watching is not None:
            watching.check("optimizer.zero_grad()", "It would throw away what is deposited.")
        zero_grad(*args, **kwargs)

    return guarded
