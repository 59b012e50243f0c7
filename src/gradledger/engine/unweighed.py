"""Warns once if micro-batches have unequal sizes and no weights were given."""

from __future__ import annotations

import warnings

from gradledger.engine.places import outside
from gradledger.engine.trees import rows
from gradledger.engine.window import MicroBatch, Window
from gradledger.errors import StepperWarning


class Unweighed:
    """Compares the batches of a window for which no `items` were passed."""

    def __init__(self) -> None:
        self._told = False
        self._rows: int | None = None

    def compare(self, turn: MicroBatch | None, window: Window) -> None:
        """Warns if this batch and the one before it in the window have not the same rows."""
        if self._told or window.size == 1:
            return
        here = rows(turn.batch) if turn is not None and turn.drawn else None
        if window.deposits and here and self._rows and here != self._rows:
            self._told = True
            warnings.warn(
                f"micro-batches of {self._rows} and of {here} rows weigh the same in one window, "
                "so the update is not that of the big batch. Pass items: "
                "stepper.backward(loss, items=len(y)).",
                StepperWarning,
                stacklevel=outside(),
            )
        self._rows = here
