"""Trackio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Tracker:
    """Logs to the program's run; in a run of its own, to the project `gradledger`."""

    def __init__(self) -> None:
        self._run: Any = None
        self._own = False

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Numbers of a step."""
        named = {f"gradledger/{name}": value for name, value in values.items()}
        self._begun().log({**named, "gradledger/step": step})

    def alert(self, title: str, text: str) -> None:
        """A finding."""
        run = self._begun()
        if hasattr(run, "alert"):  # which early versions lack
            run.alert(title=title, text=text)
        else:
            run.log({"gradledger/finding": f"{title}: {text}"})

    def close(self) -> None:
        """Ends a run that it began."""
        if self._own:
            self._run.finish()

    def _begun(self) -> Any:
        if self._run is None:
            import trackio
            from trackio import context_vars

            running = context_vars.current_run.get()
            self._own = running is None
            self._run = trackio.init(project="gradledger") if running is None else running
        return self._run
