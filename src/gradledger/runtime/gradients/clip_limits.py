"""Limits of clips, and what they are limits of: some are multiplied by a GradScaler's scale."""

from __future__ import annotations

from math import isinf, log

from gradledger.ledger.events import CellNames
from gradledger.ledger.places import Place
from gradledger.runtime.gradients.scalers import Scalers
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.tensors.devices import number


class ClipLimits:
    """Tells whose scale is in a limit, where the gradients are scaled.

    A limit can have it only where the program has asked for the scale. Where the scale has changed
    since, the limit has changed with it, or not. Where it has not, what is nearer to 1 is what
    was meant: the limit itself, or the limit without the scale.
    """

    def __init__(self, journal: Journal, scalers: Scalers) -> None:
        self.journal = journal
        self._scalers = scalers
        self._follows: dict[Place, bool] = {}
        """Has the limit there been seen to change with the scale?"""
        self._before: dict[Place, tuple[float, float]] = {}
        """The latest scale and limit of a clip."""

    @property
    def matter(self) -> bool:
        """Could there be gradients that are scaled?"""
        return self._scalers.met

    def unit(self, at: Place, cells: CellNames, limit: float | None) -> str | None:
        """The scaler that is in the limit of this clip; None: a limit that can't be read."""
        scaler = self._scaler(cells)
        if scaler is None or limit is None:
            return scaler
        if isinf(limit):  # what is done with the norm comes after it: ask the source
            source = self.journal.places.source(at.path)
            return scaler if "get_scale" in source.text_at(at.line) else None
        asked = self._scalers.asked.get(scaler)
        has_scale = asked is not None and (
            self._same_statement(asked, at) or self._has_scale(at, scaler, limit)
        )
        return scaler if has_scale else None

    def _same_statement(self, one: Place, other: Place) -> bool:
        statement = self.journal.places.source(one.path).statement_at
        return one.path == other.path and statement(one.line) is statement(other.line)

    def _has_scale(self, at: Place, scaler: str, limit: float) -> bool:
        factor = self._scalers.scale(scaler)
        if factor is None or limit <= 0:
            return False
        scale = number(factor)
        if scale is None:  # on a device: the program may have read it
            scale = self._scalers.read.get(scaler)
        if scale is None:
            return True
        known = self._before.get(at)
        self._before[at] = scale, limit
        if known is not None and known[0] != scale:
            self._follows[at] = limit != known[1]
        follows = self._follows.get(at)
        return abs(log(limit / scale)) < abs(log(limit)) if follows is None else follows

    def _scaler(self, cells: CellNames) -> str | None:
        """The only one whose scale these cells still have."""
        groups = self.journal.book.page.among(cells)
        found = {h.deposit.scaler for _, cell in groups for h in cell.fresh if h.scaled}
        return found.pop() if len(found) == 1 else None
