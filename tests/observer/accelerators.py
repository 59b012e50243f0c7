"""Watches Accelerate, whose `backward` divides the loss by the size of the window."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from tests.observer import weights
from tests.observer.backwards import Backwards
from tests.observer.patches import Function, Patches


class Accelerators:
    """Tells the backward what the script itself divided by, and that the framework divides too."""

    def __init__(self, backwards: Backwards) -> None:
        self.backwards = backwards

    def watch(self, patches: Patches) -> None:
        """Observe all accelerators until the patches are closed."""
        from accelerate import Accelerator

        patches.around(Accelerator, "backward", self._around_backward)
        # It remembers its settings from one accelerator to the next, for the whole process.
        patches.callback(_forget)

    def _around_backward(self, real: Function) -> Function:
        def backward(accelerator: Any, loss: Tensor, **kwargs: Any) -> None:
            self.backwards.given = weights.read(loss)
            self.backwards.framework_divides = accelerator.gradient_accumulation_steps > 1
            try:
                real(accelerator, loss, **kwargs)
            finally:
                self.backwards.given = None

        return backward


def _forget() -> None:
    from accelerate.state import (
        AcceleratorState,
        GradientState,
    )

    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
