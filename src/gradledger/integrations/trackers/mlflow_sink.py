"""MLflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LONGEST = 4_000
"""Letters of a tag that every store of MLflow takes."""


class Tracker:
    """Logs metrics to the active run; findings are tags of it."""

    def __init__(self) -> None:
        self._mlflow: Any = None
        self._run = ""
        self._own = False
        self._alerts = 0

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Numbers of a step."""
        mlflow = self._begun()
        named = {f"gradledger/{name}": value for name, value in values.items()}
        mlflow.log_metrics(named, step=step, run_id=self._run)

    def alert(self, title: str, text: str) -> None:
        """A finding."""
        mlflow = self._begun()
        self._alerts += 1
        key, said = f"gradledger.finding.{self._alerts}", f"{title}: {text}"[:LONGEST]
        mlflow.MlflowClient().set_tag(self._run, key, said)

    def close(self) -> None:
        """Ends a run that it began."""
        if self._own:
            self._mlflow.end_run()

    def _begun(self) -> Any:
        if self._mlflow is None:
            import mlflow

            active = mlflow.active_run()
            self._own = active is None
            self._run = (active or mlflow.start_run()).info.run_id
            self._mlflow = mlflow
        return self._mlflow
