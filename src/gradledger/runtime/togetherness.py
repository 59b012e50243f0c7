"""Do ranks that step each for itself come together again? Local SGD averages parameters instead.

A step on gradients that only this rank has leaves the ranks apart. That is a fault if nothing
brings them together: which is known at the end. So findings about it wait until then.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping

from torch import Tensor

from gradledger.ledger.places import Place
from gradledger.runtime.journal import Journal

WAIT = frozenset({"GL801"})
"""Rules whose findings an average of the parameters settles."""
FEW = 4
"""Parameters that are looked at: an average changes all of them."""
START = 16
"""Elements of each."""

Print = tuple[Place, int, Mapping[str, int]]
"""A fingerprint: where, after which step, what each parameter looked like."""
Look = list[list[float] | None]


class Togetherness:
    """Sees parameters that change although no step of this rank's own has changed them, after the
    ranks have told each other something: in place, by a copy, or by an outer optimizer."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.apart = False
        """The ranks may differ now."""
        self._always_apart = False
        self.found = False
        """They have been brought together after they were apart."""
        self.held: list[Print] = []
        """Fingerprints of ranks that were apart: they differ by design, or by a fault."""
        self._looked_at: list[weakref.ref[Tensor]] = []
        self._before: Look | None = None
        """What parameters looked like before the ranks last told each other something."""

    def begin(self, parameters: Iterable[Tensor], *, apart: bool) -> None:
        """There are replicas with these parameters; `apart`: any step may leave them different.
        Their findings wait from now on."""
        every = list(parameters)
        chosen = every[:: max(1, len(every) // FEW)][:FEW]
        self._looked_at = [weakref.ref(parameter) for parameter in chosen]
        self.apart = self._always_apart = apart
        self.journal.waits |= WAIT

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
            self.found, self.apart = True, self._always_apart
            self.held.clear()

    def _look(self) -> Look:
        leaves = (ref() for ref in self._looked_at)
        return [None if leaf is None else _start(leaf) for leaf in leaves]

    def end(self) -> list[Print]:
        """The run ends: where nothing has brought the ranks together, the findings are told."""
        self.goes_on()
        if self.found:
            return []
        self.journal.waits -= WAIT
        return self.held


def _start(leaf: Tensor) -> list[float]:
    numbers: list[float] = leaf.detach().reshape(-1)[:START].tolist()
    return numbers
