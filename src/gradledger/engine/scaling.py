"""The GradScaler's part: one scale for a window, one verdict for all of its optimizers (Law 4)."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor
from torch.amp import GradScaler
from torch.optim import Optimizer


class Scaling:
    """A GradScaler as a window needs it. Without one, or with a disabled one, the scale is 1."""

    def __init__(self, scaler: GradScaler | None) -> None:
        self.scaler = scaler if scaler is not None and scaler.is_enabled() else None
        self._unit: Tensor | None = None
        self._seen: tuple[int, int] | None = None
        self._verdict: _Verdict | None = None

    def apply(self, loss: Tensor) -> Tensor:
        """The loss to walk back from."""
        return loss if self.scaler is None else self.scaler.scale(loss)

    def correction(self, device: torch.device) -> float:
        """What a deposit made now is multiplied by to have the unit of the window's first."""
        if self.scaler is None:
            return 1.0
        unit = self._now(device)
        # The version tells whether somebody moved the scale meanwhile (another Stepper that shares
        # the scaler, or the user) without waiting for the device.
        scale: Tensor | None = getattr(self.scaler, "_scale", None)
        seen = None if scale is None else (id(scale), scale._version)
        if self._unit is None:
            self._unit, self._seen = unit, seen
        elif seen is None or seen != self._seen:
            return float(self._unit) / float(unit)
        return 1.0

    @property
    def unit(self) -> float:
        """What the window's deposits are multiplied by."""
        return 1.0 if self._unit is None else float(self._unit)

    @unit.setter
    def unit(self, value: float) -> None:
        """Goes on with a window that was saved."""
        self._unit = None if self.scaler is None else torch.tensor(value)

    def forget(self) -> None:
        """The window is over."""
        self._unit = None

    def judge(self, finite: bool, device: torch.device) -> bool:
        """Tells the scaler what a window holds; it says whether to step, and moves its scale.

        The scaler looks at a stand-in with one number, so that its own unscaling is not a pass over
        all gradients, and its verdict is one for all optimizers.
        """
        if self.scaler is None:
            return finite
        if self._verdict is None or self._verdict.cell.device != device:
            self._now(device)  # a scaler that has scaled nothing yet cannot be asked
            self._verdict = _Verdict(device)
        stand_in = self._verdict
        stand_in.cell.grad = torch.tensor(0.0 if finite else torch.inf, device=device)
        stand_in.stepped = False
        self.scaler.step(cast(Optimizer, stand_in))
        self.scaler.update()
        return stand_in.stepped

    def _now(self, device: torch.device) -> Tensor:
        """The scale, without waiting for the device."""
        assert self.scaler is not None
        return self.scaler.scale(torch.ones((), device=device))


class _Verdict:
    """As much of an optimizer as a GradScaler looks at."""

    def __init__(self, device: torch.device) -> None:
        self.cell = torch.zeros((), device=device, requires_grad=True)
        self.param_groups = [{"params": [self.cell]}]
        self.stepped = False

    def step(self) -> None:
        self.stepped = True
