"""Raises an error if the user's code steps or clears inside a window, at the line that does it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary, ref

from torch.optim import Optimizer
from torch.optim import optimizer as hooks

from gradledger.engine.window import Window
from gradledger.errors import MisuseError

_UNKNOWN: Any = {"?": None, "??": None}
"""Hooks, where torch doesn't tell: there may be some."""
_BEFORE_ALL: Any = getattr(hooks, "_global_optimizer_pre_hooks", _UNKNOWN)
_BEHIND_ALL: Any = getattr(hooks, "_global_optimizer_post_hooks", _UNKNOWN)


class Guard:
    """Watches over one optimizer for one Stepper, for as long as that lives.

    Inside of `with guard:`, what happens to it is the Stepper's own doing.
    """

    def __init__(self, optimizer: Optimizer, window: Window) -> None:
        self._window = window
        self._ours = False
        guards = _guards_of(optimizer)
        guards.append(ref(self, guards.remove))

    def __enter__(self) -> None:
        self._ours = True

    def __exit__(self, *error: object) -> None:
        self._ours = False

    def check(self, call: str, consequence: str) -> None:
        """Raises MisuseError if a window is open, and the call is not ours."""
        window = self._window
        if window.open and not self._ours:
            raise MisuseError(
                f"{call} was called inside a window, after {window.begun} of {window.size} "
                f"micro-batches. {consequence} The Stepper does this by itself when the window is "
                "full: take the call out. To end the window now: stepper.flush(); to forget it: "
                "stepper.drop()."
            )


_Guards: TypeAlias = "list[ref[Guard]]"
_GUARDS: WeakKeyDictionary[Optimizer, _Guards] = WeakKeyDictionary()


def is_watched(optimizer: Optimizer) -> bool:
    """Whether somebody besides us has a hook on its step, and may look at its parameters.

    Or another Stepper is there, whose guard has to be asked.
    """
    step = vars(optimizer).get("step")
    guards = _GUARDS.get(optimizer)
    return bool(
        (step is not None and not hasattr(step, "_wrapped_by_lr_sched"))
        or len(getattr(optimizer, "_optimizer_step_pre_hooks", _UNKNOWN)) > (guards is not None)
        or (guards is not None and len(guards) > 1)
        or getattr(optimizer, "_optimizer_step_post_hooks", _UNKNOWN)
        or _BEFORE_ALL
        or _BEHIND_ALL
    )


def _guards_of(optimizer: Optimizer) -> _Guards:
    """Those who watch over an optimizer. The first puts the hooks in place, once for all."""
    if optimizer not in _GUARDS:
        guards: _Guards = []
        _GUARDS[optimizer] = guards
        optimizer.register_step_pre_hook(_before_step(guards))
        # On the instance, as schedulers do with `step`: pickling and deepcopy leave it out.
        optimizer.zero_grad = _guarded(optimizer.zero_grad, guards)  # type: ignore[method-assign]
    return _GUARDS[optimizer]


def _before_step(guards: _Guards) -> Callable[..., None]:
    def before_step(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        _ask(guards, "optimizer.step()", "It would spend half a window.")

    return before_step


def _guarded(zero_grad: Callable[..., None], guards: _Guards) -> Callable[..., None]:
    @wraps(zero_grad)
    def guarded(*args: Any, **kwargs: Any) -> None:
        _ask(guards, "optimizer.zero_grad()", "It would throw away what is deposited.")
        zero_grad(*args, **kwargs)

    return guarded


def _ask(guards: _Guards, call: str, consequence: str) -> None:
    for each in list(guards):
        guard = each()
        if guard is not None:
            guard.check(call, consequence)
