"""Do ranks that step each for itself come together again? Local SGD averages parameters instead.

A step on gradients that only this rank has leaves the ranks apart. That is a fault if nothing
brings them together. So findings about it wait until an average settles them, or one of these:

- Nothing that is loaded could average: they don't wait at all.
- Ranks that are apart average gradients again, and then go on, still apart.
- They have been apart for longer than local SGD ever is.
- The run ends.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FunctionType, ModuleType

from torch import Tensor

from gradledger.ledger.places import Place
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.program.objects import attributes, is_a
from gradledger.runtime.tensors.weak_references import TensorRef

WAIT = frozenset({"GL801"})
"""Rules whose findings an average of the parameters settles."""
FEW = 4
"""Parameters that are looked at: an average changes all of them."""
START = 16
"""Elements of each."""
LONG = 5000
"""Steps alone before the first average, more than any algorithm has: DiLoCo makes 500."""
USUAL = 200, 4
"""Once they have averaged, at least so many steps, and so many times the longest period seen."""

Print = tuple[Place, int, Mapping[str, int]]
"""A fingerprint: where, after which step, what each parameter looked like."""
Look = list[list[float] | None]

_COLLECTIVE = re.compile(
    r"all_?reduce|all_?gather|all_to_all|broadcast|reduce_scatter|averag|local_?sgd"
    r"|\b(dist|distributed|c10d|funcol)\.\w*(reduce|gather|scatter|send|recv)",
    re.IGNORECASE,
)


class LocalSGD:
    """Sees parameters that change although no step of this rank's own has changed them, after the
    ranks have told each other something: in place, by a copy, or by an outer optimizer."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.apart = False
        """The ranks may differ now."""
        self._always_apart = False
        self.held: list[Print] = []
        """Fingerprints of ranks that were apart: they differ by design, or by a fault."""
        self._alone = 0
        """Steps that this rank has made for itself since they were together."""
        self._longest = 0
        """The most of them after which an average came."""
        self._mixed = False
        """Gradients were averaged although the ranks were apart."""
        self._asked = False
        self._looked_at: list[TensorRef] = []
        self._before: Look | None = None
        """What parameters looked like before the ranks last told each other something."""

    def begin(self, parameters: Iterable[Tensor], *, apart: bool) -> None:
        """There are replicas with these parameters; `apart`: any step may leave them different.
        Their findings wait from now on."""
        every = list(parameters)
        chosen = every[:: max(1, len(every) // FEW)][:FEW]
        self._looked_at = [TensorRef(parameter) for parameter in chosen]
        self.journal.let_go.append(self._looked_at.clear)
        self.apart = self._always_apart = apart
        self.journal.waits |= WAIT

    @property
    def waits(self) -> bool:
        """Is it still open whether they come together?"""
        return bool(self.journal.waits & WAIT)

    # What the ranks do

    def deposits(self, *, own: bool) -> None:
        """A pass has left gradients that only this rank has, or that all have averaged."""
        if not own:
            self._mixed = self.apart and not self._always_apart
        elif not self._asked:
            self._asked = True
            if not could_average(self.journal):
                self._tell()

    def steps_alone(self) -> None:
        """A step has spent gradients that only this rank has."""
        self.apart = True
        self._alone += 1
        if self._alone > (self._most(*USUAL) if self._longest else LONG):
            self._tell()

    def _most(self, least: int, times: int) -> int:
        return max(least, times * self._longest)

    def exchanges(self) -> None:
        """The ranks are about to tell each other something."""
        if self.apart and self._before is None and not self._gathers():
            self._before = self._look()

    def _gathers(self) -> bool:
        """Does this rank hold gradients that its next step will spend? That changes parameters."""
        groups = self.journal.book.page.groups
        return any(not h.deposit.by_hand for _, cell in groups for h in cell.fresh)

    def goes_on(self) -> None:
        """The next pass begins, or the run ends: what an exchange was for has been done."""
        before, self._before = self._before, None
        if before is not None and before != self._look():
            self._come_together()
        elif self._mixed and self.apart and not self._gathers():
            self._tell()

    def _come_together(self) -> None:
        self._longest = max(self._longest, self._alone)
        self._alone, self._mixed = 0, False
        self.apart = self._always_apart
        self.held.clear()
        self.journal.excuse(WAIT & self.journal.waits)

    def _look(self) -> Look:
        leaves = (ref() for ref in self._looked_at)
        return [None if leaf is None else _start(leaf) for leaf in leaves]

    # What is told

    def _tell(self) -> None:
        self.journal.waits -= WAIT

    def end(self) -> None:
        """The run ends. Steps behind the last average are excused, unless they are very many."""
        self.goes_on()
        if self._longest and self._alone <= self._most(*USUAL):
            self.journal.excuse(WAIT & self.journal.waits)
            self.held.clear()
        self._tell()


def could_average(journal: Journal) -> bool:
    """Is there code that could bring the ranks together: the program's, or of a library that
    uses torch? Torch's own does it only for who names it."""
    paths = set(journal.places.met)
    for module in list(sys.modules.values()):
        path = attributes(module).get("__file__")
        if type(path) is str and path.endswith(".py") and _uses_torch(module):
            paths.add(path)
    return any(map(_mentions_collectives, paths))


def _uses_torch(module: ModuleType) -> bool:
    return _package(module) not in ("torch", "gradledger") and any(
        map(_is_torchs, list(attributes(module).values()))
    )


def _package(module: ModuleType) -> str:
    return str(attributes(module).get("__name__", "")).partition(".")[0]


def _is_torchs(value: object) -> bool:
    if is_a(value, ModuleType):
        return _package(value) == "torch"
    if is_a(value, type):
        home = type.__getattribute__(value, "__module__")
    else:
        home = value.__module__ if type(value) is FunctionType else None
    return type(home) is str and home.startswith("torch.")


def _mentions_collectives(path: str) -> bool:
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:  # a cell of a notebook
        text = "".join(linecache.getlines(path))
    return bool(_COLLECTIVE.search(text))


def _start(leaf: Tensor) -> list[float]:
    numbers: list[float] = leaf.detach().reshape(-1)[:START].tolist()
    return numbers
