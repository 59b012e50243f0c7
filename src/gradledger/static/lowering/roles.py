"""What a name is for, told by what the file does with it."""

from __future__ import annotations

import re
from typing import Literal

Role = Literal["optimizer", "scheduler", "scaler", "model"]

_METHODS = [
    "zero_grad",
    "step",
    "parameters",
    "named_parameters",
    "train",
    "eval",
    "unscale_",
    "update",
    "scale",
    "param_groups",
    "load_state_dict",
    "state_dict",
    "no_sync",
    "backward",
]
_METHOD_BACKWARDS = re.compile(
    rf"\b({'|'.join(method[::-1] for method in _METHODS)})\s*\.\s*(?=(?:\][^][]*\[)?(\w+))"
)
"""`name.method`, in a text that is read from its end: there are few methods and many names, so
that it takes a tenth of the time."""
_BACKWARD = re.compile(r"\b(\w+)(?:\[[^][]*\])?\s*\.backward\(|(?:scale|backward)\(\s*(\w+)\s*\)")
_STEPPED_BY_SCALER = re.compile(r"scaler\.(?:step|unscale_)\(\s*(?:\w+\.)*(\w+)")

_OPTIMIZER = re.compile(r"(?:^|_)(?:opt|OPT)s?(?:$|_|\d|[A-Z])|[oO]ptim|OPTIM|Opt(?:$|[A-Z_])")
_SCHEDULER = re.compile(r"sched|(^|_)lr($|_)|warmup|annealer|plateau", re.IGNORECASE)
_SCALER = re.compile(r"scaler", re.IGNORECASE)


def backwarded(text: str) -> set[str]:
    """Names on which backward is called: each is surely a loss with its graph."""
    if "backward(" not in text and "scale(" not in text:
        return set()
    return {a or b for a, b in _BACKWARD.findall(text)}


class Uses:
    """The methods that a file calls on each of its names, whatever they are attributes of."""

    def __init__(self, text: str) -> None:
        self._methods: dict[str, set[str]] = {}
        for method, name in _METHOD_BACKWARDS.findall(text[::-1]):
            self._methods.setdefault(name[::-1], set()).add(method[::-1])
        self._stepped = set(_STEPPED_BY_SCALER.findall(text))

    def of(self, name: str) -> set[str]:
        """What is called on it."""
        return self._methods.get(name, set())

    def steps(self, name: str) -> bool:
        """Is it stepped or cleared somewhere?"""
        return bool(self.of(name) & {"step", "zero_grad"}) or name in self._stepped

    def role(self, key: str) -> Role | None:
        """What the thing that is reached by this key must be; None where that is not plain."""
        name = re.sub(r"\[.*?\]", "", key).rpartition(".")[2].rpartition(":")[2]
        methods = self.of(name)
        if _SCALER.search(name) or "unscale_" in methods:
            return "scaler"
        if _SCHEDULER.search(name):
            return "scheduler"
        if name in self._stepped:
            return "optimizer"
        if {"zero_grad", "step"} <= methods and not methods & {"parameters", "backward"}:
            return "optimizer"
        if _OPTIMIZER.search(name) and not methods & {"parameters", "backward"}:
            return "optimizer"
        if methods & {"parameters", "named_parameters", "zero_grad", "eval"}:
            return "model"
        return None
