"""Graphs that outlive their step: sums of losses, carried states, retained graphs."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterable

from torch import Tensor
from torch.autograd.graph import Node

from gradledger.ledger.events import Keep, Release
from gradledger.ledger.places import Place
from gradledger.runtime.graphs import nodes, note, note_on_root, noted
from gradledger.runtime.holders import Holders
from gradledger.runtime.journal import Journal
from gradledger.runtime.sites import FEW, Site, Token

NO_PLACES: frozenset[Place] = frozenset()
_ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Neg", "ToCopy")
MOST_PARTS = 16
"""A loss has few."""
SECOND_TIME = "backward through the graph a second time"


class Kept:
    """Writes `Keep` and `Release`, and tells a backward which kept graphs it walks."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        # Audits may lie in one another, and a node's notes are everybody's.
        self._loss, self._retained = f"loss {journal.number}", f"retained {journal.number}"
        self.windows = 0
        """Steps so far."""
        self._holders = Holders(journal.places)
        self.ended: dict[int, int] = {}
        """For each thread, the number of the last node of its latest pass that ended well."""

    # Losses that pile up

    def begin(self, site: Site, root: Node) -> None:
        """A pass from this node begins, whose graph is counted."""
        site.counts_now()
        token = site.token(self.windows)
        note_on_root(root, self._loss, token)
        for part in _parts(root):
            note(part, self._loss, token)
        alive = len(site.alive)
        if alive > site.most_alive:
            site.most_alive = alive
            self._piles_up(site)
        elif site.kept_at is not None and alive <= FEW:
            self.journal.post(Release(self.journal.places.last, site.kept_at))
            site.kept_at, site.most_alive = None, FEW

    def _piles_up(self, site: Site) -> None:
        """More graphs of one site's losses are alive than ever before."""
        if site.kept_at is None:
            living = (ref() for ref in list(site.alive))
            windows = {token.window for token in living if token is not None}
            if len(windows) < FEW:
                return  # all within a window or two: a list that is summed up at its end
            site.kept_at = self._holders.keeper(self._is_old_loss, sys._getframe())
        if site.kept_at is not None:
            self.journal.post(self.journal.made(Keep, site.kept_at, "loss"))

    def _is_old_loss(self, node: Node) -> bool:
        token = noted(node, self._loss)
        return isinstance(token, Token) and token.window < self.windows - 1

    # Graphs that are walked again

    def walk(self, site: Site, graph: Iterable[Node], *, retain: bool) -> frozenset[Place]:
        """Which retained graphs this pass goes through; and mark its own, if it is retained."""
        found: set[Place] = set()
        windows: set[int] = set()
        before, token = site.retained(), Token(self.windows)
        for node in graph:
            marks: dict[Place, Token] | None = noted(node, self._retained)
            if marks:
                found.update(marks)
                windows.update(mark.window for mark in marks.values())
            if retain:
                note(node, self._retained, {site.at: token, **(marks or {})})
        # It goes back through more than one earlier window: each pass is longer than the last.
        grows = len(windows - {self.windows}) > 1 and site.at in found
        if grows and (place := self._holders.carrier(self._is_retained, sys._getframe())):
            self.journal.post(self.journal.made(Keep, place, "state", True))
            found.add(place)
        if before is not None:
            found.add(site.at)  # what it has kept is still there, to be walked by others
        site.retained = weakref.ref(token)
        site.walked |= frozenset(found)
        return frozenset(found) if site.passes <= 16 else site.walked

    def walked_by(self, roots: list[Tensor]) -> frozenset[Place]:
        """Which retained graphs somebody goes through from here."""
        marks = (noted(node, self._retained) for node in nodes(roots))
        return frozenset(place for places in marks if places for place in places)

    def _is_retained(self, node: Node) -> bool:
        marks: dict[Place, Token] | None = noted(node, self._retained)
        return marks is not None and min(m.window for m in marks.values()) < self.windows

    def refused(self, error: RuntimeError, roots: list[Tensor]) -> frozenset[Place]:
        """Torch refused a pass because a part of its graph was walked, and freed, before."""
        last = self.ended.get(threading.get_ident())
        if SECOND_TIME not in str(error) or last is None:
            return NO_PLACES
        if any(node is not None and _number(node) <= last for node in (r.grad_fn for r in roots)):
            return NO_PLACES  # the same loss twice: nothing was carried anywhere

        def is_old(node: Node) -> bool:
            return not hasattr(node, "variable") and _number(node) <= last

        if not any(map(is_old, nodes(roots))):
            return NO_PLACES
        place = self._holders.carrier(is_old, sys._getframe())
        if place is None:
            return NO_PLACES
        self.journal.post(Keep(place, "state", walked=True))
        return frozenset({place})


def _parts(root: Node) -> list[Node]:
    """What a loss was added up, weighed and scaled from: a program may keep these instead of it."""
    found: list[Node] = []
    waiting = [root]
    while waiting and len(found) < MOST_PARTS:
        if waiting[-1].name().startswith(_ARITHMETIC):
            behind = [node for node, _ in waiting.pop().next_functions if node is not None]
            found += behind
            waiting += behind
        else:
            waiting.pop()
    return found


def _number(node: Node) -> int:
    number: int = node._sequence_nr()
    return number
