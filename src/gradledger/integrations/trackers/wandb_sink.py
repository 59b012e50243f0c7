"""Weights & Biases."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

STEP = "gradledger/step"


class Tracker:
    """Logs beside the program's own numbers, with a step of its own for its charts."""

    def __init__(self) -> None:
        self._run: Any = None
        self._own = False

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Numbers of a step."""
        named = {f"gradledger/{name}": value for name, value in values.items()}
        self._begun().log({**named, STEP: step})

    def alert(self, title: str, text: str) -> None:
        """A finding."""
        self._begun().alert(title=title, text=text)

    def close(self) -> None:
        """Ends a run that it began."""
        if self._own:
            # When Python ends, W&B ends its runs itself, and before `gradledger run` is done.
            with contextlib.suppress(ConnectionError):
                self._run.finish()

    def _begun(self) -> Any:
        if self._run is None:
            import wandb

            self._own = wandb.run is None
            self._run = wandb.init(project="gradledger") if self._own else wandb.run
            # The program's own steps count something else.
            self._run.define_metric(STEP)
            self._run.define_metric("gradledger/*", step_metric=STEP)
        return self._run
