"""Weights & Biases."""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

STEP = "gradledger/step"


class Tracker:
    """Logs beside the program's own numbers, with a step of its own for its charts."""

    def __init__(self) -> None:
        self._run: Any = None
        self._own = False
        self._last: Callable[[], object] | None = None
        """What W&B would do when Python ends, if it waits for us."""

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
            with contextlib.suppress(ConnectionError):
                self._run.finish()
        last, self._last = self._last, None
        if last is None:
            return
        if threading.main_thread().is_alive():
            atexit.register(last)
        else:  # Python ends: it is our turn, and was to be W&B's
            last()

    def _begun(self) -> Any:
        if self._run is None:
            import wandb

            self._own = wandb.run is None
            self._run = wandb.init(project="gradledger") if self._own else wandb.run
            # The program's own steps count something else.
            self._run.define_metric(STEP)
            self._run.define_metric("gradledger/*", step_metric=STEP)
            self._last = _put_off(wandb)
        return self._run


def _put_off(wandb: Any) -> Callable[[], object] | None:
    """Take back what W&B has registered for the end of Python, and give it.

    It ends all runs, and comes before `gradledger run` is done, which then has no run to tell what
    only the end has shown. Nothing public says what it is: where it is not found, all stays so.
    """
    with contextlib.suppress(Exception):
        unregister = wandb.setup().assert_service()._cleanup
        (cell,) = unregister.__closure__
        last: Callable[[], object] = cell.cell_contents
        if callable(last):
            unregister()
            return last
    return None
