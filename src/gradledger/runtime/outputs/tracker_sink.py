"""A run's numbers and findings as they happen, for a tracker: `audit(sink=…)`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Protocol

from gradledger.ledger.events import Backward, CellNames, Event, Own, Skipped, Step
from gradledger.ledger.findings import Finding
from gradledger.rules import find
from gradledger.rules.explanation import sentence
from gradledger.rules.framework_cures import fix
from gradledger.runtime.outputs.measurements import Measured

TAGS = {
    "loss": "loss",
    "learning rate": "learning_rate",
    "gradient norm": "gradient_norm",
    "update ratio": "update_ratio",
}
"""What is measured, and its name in a tracker; as in the files that `--tensorboard` writes."""


class Sink(Protocol):
    """Where they go. What it raises ends the logging, and nothing else."""

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Numbers of a step of an optimizer, counted from 1."""

    def alert(self, title: str, text: str) -> None:
        """A law was broken, for the first time at this place."""

    def close(self) -> None:
        """Nothing more comes."""


class SinkFeed:
    """Listens to an audit, and hands what it hears to a sink."""

    def __init__(self, sink: Sink, names: Callable[[], Mapping[str, str]]) -> None:
        self._sink: Sink | None = sink
        self._names = names
        """What the program calls its optimizers."""
        self._owned: dict[str, CellNames] = {}
        self._deposits: Counter[str] = Counter()
        self._steps: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()
        self._waiting: dict[str, list[tuple[str, float, int]]] = {}
        """What is to be logged, by optimizer."""
        self._found: set[tuple[str, object]] = set()
        self.failure: Exception | None = None
        """What the sink raised; nothing was logged from then on."""

    def hear(self, event: Event, findings: tuple[Finding, ...]) -> None:
        """An event, and what it broke."""
        match event:
            case Own(optimizer=name, cells=cells):
                self._owned[name] = self._owned.get(name, frozenset()) | cells
            case Backward(cells=cells):
                for name, owned in self._owned.items():
                    self._deposits[name] += not owned.isdisjoint(cells)
            case Step(optimizer=name, within=False):
                self._steps[name] += 1
                self._log("window_deposits", name, self._deposits.pop(name, 0), self._steps[name])
            case Skipped(optimizer=name):
                self._steps[name] += 1
                self._skipped[name] += 1
                self._deposits.pop(name, None)
                self._log("skipped_steps", name, self._skipped[name], self._steps[name])
        self.hear_late(event, findings)

    def hear_late(self, event: Event, findings: tuple[Finding, ...]) -> None:
        """Findings about an event of before."""
        for finding in findings:
            self._alert(finding)

    def measured(self, told: Measured) -> None:
        """A number of a step."""
        if told.total is not None and told.name in TAGS:
            self._log(TAGS[told.name], told.optimizer, told.total, told.step)

    def finish(self) -> None:
        """The run is over."""
        for optimizer in list(self._waiting):
            self._tell(optimizer, optimizer)
        self._do(lambda sink: sink.close())
        self._sink = None

    def _log(self, tag: str, optimizer: str, value: float, step: int) -> None:
        self._waiting.setdefault(optimizer, []).append((tag, float(value), step))
        # A first step that is skipped comes before the program's name for it is known, and one
        # optimizer should have one name.
        if name := self._names().get(optimizer):
            self._tell(optimizer, name)

    def _tell(self, optimizer: str, name: str) -> None:
        for tag, value, step in self._waiting.pop(optimizer):
            self._do(partial(_logged, {f"{tag}/{name}": value}, step))

    def _alert(self, finding: Finding) -> None:
        key = finding.rule, finding.at
        if key in self._found:
            return
        self._found.add(key)
        rule = find(finding.rule)
        said = f"{finding.at}: {sentence(rule.says)} {sentence(finding.detail)}"
        text = f"{said} Fix: {fix(finding)}."
        self._do(lambda sink: sink.alert(f"{rule.code} {rule.name}", text))

    def _do(self, what: Callable[[Sink], None]) -> None:
        if self._sink is None:
            return
        try:
            what(self._sink)
        except Exception as error:  # a tracker that fails is no reason for a training to
            failed, self._sink, self.failure = self._sink, None, error
            with suppress(Exception):
                failed.close()


def _logged(values: Mapping[str, float], step: int, sink: Sink) -> None:
    sink.log(values, step)
