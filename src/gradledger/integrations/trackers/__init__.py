"""Sinks for trackers: `audit(sink=tracker("wandb"))`, or `gradledger run --log wandb train.py`.

Each is loaded when it is asked for, and imports its tracker with the first number that it logs. A
run that the program has begun is used; without one, it begins its own.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from gradledger.errors import MissingExtraError, OptionError

if TYPE_CHECKING:
    from gradledger.runtime.outputs.tracker_sink import Sink

TRACKERS = ("wandb", "mlflow", "trackio", "tensorboard")
"""A file here for each, named for it, with a class `Tracker`."""
_NEEDS = {"wandb": "wandb", "mlflow": "mlflow", "trackio": "trackio"}


def tracker(name: str) -> Sink:
    """The sink of this tracker, which has to be installed."""
    if name not in TRACKERS:
        raise OptionError(f"there is no tracker {name!r}. There are {', '.join(TRACKERS)}.")
    package = _NEEDS.get(name)
    if package is not None and find_spec(package) is None:
        raise MissingExtraError(
            f"{name} is not installed here, and nothing could be logged to it: pip install {name}",
            name=package,
        )
    made: Sink = import_module(f"gradledger.integrations.trackers.{name}_sink").Tracker()
    return made
