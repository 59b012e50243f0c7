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
from gradledger.runtime.backward.call_sites import FEW, Site, Token
from gradledger.runtime.backward.graph_holders import Dated, Grip, Holders, Survey
from gradledger.runtime.backward.out_of_memory import (
    Batches,
    frames_of,
    never_walked,
    out_of_memory,
)
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.tensors.graphs import leaf_of, nodes, note, note_on_root, noted, number_of

NO_PLACES: frozenset[Place] = frozenset()
_ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Neg", "ToCopy")
MOST_PARTS = 16
"""A loss has few."""
MOST_DEEP = 10_000
AT_THE_END = 3
"""So many old graphs in one variable, and no more memory: that is no accident."""
SECOND_TIME = "backward through the graph a second time"
CHANGED = "has been modified by an inplace operation"


class KeptGraphs:
    """Writes `Keep` and `Release`, and tells a backward which kept graphs it walks."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        # Audits may lie in one another, and a node's notes are everybody's.
        self._loss, self._retained = f"loss {journal.number}", f"retained {journal.number}"
        self.windows = 0
        """Steps so far."""
        self._holders = Holders(journal.places)
        self.batches = Batches()
        self.keeper: object = None
        """While a framework's pass begins: the object whose methods the program has written."""
        self.ended: dict[int, int] = {}
        """For each thread, the number of the last node of its latest pass that ended well."""

    # Losses that pile up

    def begin(self, site: Site, root: Node, *, retain: bool) -> None:
        """A pass from this node begins, whose graph is counted."""
        site.counts_now()
        token = site.token(self.windows)
        note_on_root(root, self._loss, token)
        for part in _parts(root):
            note(part, self._loss, token)
        if not retain:
            # An output that is kept without its loss keeps what is below it.
            note(_bottom(root), self._loss, token)
        alive = len(site.alive)
        if alive > site.most_alive:
            site.most_alive = alive
            self._piles_up(site)
        elif site.kept is not None and alive <= FEW:
            self._tell_how_many(site, site.most_alive)
            self.journal.post(Release(self.journal.places.last, site.kept.at))
            site.kept, site.most_alive, site.next_search = None, FEW, FEW

    def _piles_up(self, site: Site) -> None:
        """More graphs of one site's losses are alive than ever before."""
        if site.kept is None and site.most_alive > site.next_search:
            windows = {token.window for token in site.living}
            if len(windows) < FEW:
                return  # all within a window or two: a list that is summed up at its end
            site.next_search = 2 * site.most_alive
            site.kept = self._holders.keeper(self._old_window, self._survey())
        if site.kept is not None:
            site.kept_since = min((t.window for t in site.living), default=self.windows)
            event = self.journal.made(Keep, site.kept.at, "loss", False, False, site.kept.name)
            self.journal.post(event)

    def _old_window(self, node: Node) -> int | None:
        token = noted(node, self._loss)
        is_old = isinstance(token, Token) and token.window < self.windows - 1
        return token.window if is_old else None

    def _tell_how_many(self, site: Site, graphs: int, died_at: Place | None = None) -> None:
        """The last word on what a site's losses were kept by."""
        if site.kept is not None:
            at, name, _ = site.kept
            age = self.windows - site.kept_since
            self.journal.post(Keep(at, "loss", False, False, name, graphs, age, died_at))

    def end(self, sites: Iterable[Site], error: BaseException | None, at: Place) -> None:
        """The run ends. What is alive by now, and who holds it, is known best now."""
        died_at = at if error is not None and out_of_memory(error) else None
        if error is not None and died_at is not None:
            self._look_back(list(sites), error, at)
        for site in sites:
            self._tell_how_many(site, site.most_alive, died_at)
            if site.carried is not None and site.carried_since is not None:
                place, name, _ = site.carried
                age = self.windows - site.carried_since
                self.journal.post(Keep(place, "state", True, False, name, age, age, died_at))

    def _look_back(self, sites: list[Site], error: BaseException, at: Place) -> None:
        """The program has died of memory: which variables hold graphs of the past?"""
        frames = list(frames_of(error, self.journal.places))
        survey = self._holders.survey(frames)
        if survey.cut:
            self.journal.not_seen("graphs", "memory ran out, and there was too much to look at")
        for site in sites:
            windows = [token.window for token in site.living if token.window < self.windows]
            if site.kept is None and len(set(windows)) >= AT_THE_END:
                site.kept = self._holders.keeper(self._old_window, survey, AT_THE_END)
                site.kept_since, site.most_alive = min(windows), len(windows)
        if not any(site.kept is not None for site in sites):
            for grip in never_walked(survey, self._holders, self.batches):
                graphs = grip.iterations
                self.journal.post(Keep(grip.at, "loss", False, True, grip.name, graphs, 0, at))

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
        site.carried_since = min(windows) if grows else None
        if grows and (grip := self._carrier(site, self._is_retained)):
            fields = "state", True, False, grip.name
            self.journal.post(self.journal.made(Keep, grip.at, *fields))
            found.add(grip.at)
        if before is not None:
            found.add(site.at)  # what it has kept is still there, to be walked by others
        site.retained = weakref.ref(token)
        site.walked |= frozenset(found)
        return frozenset(found) if site.passes <= 16 else site.walked

    def walked_by(self, roots: list[Tensor]) -> frozenset[Place]:
        """Which retained graphs are gone through from here."""
        marks = (noted(node, self._retained) for node in nodes(roots))
        return frozenset(place for places in marks if places for place in places)

    def _carrier(self, site: Site, dated: Dated) -> Grip | None:
        """Looked for until it is found, and then known."""
        if site.carried is None and site.passes >= site.next_look:
            site.next_look = 2 * site.passes
            site.carried = self._holders.carrier(dated, self._survey())
        return site.carried

    def _survey(self) -> Survey:
        frames = self.journal.places.frames(sys._getframe())
        return self._holders.survey(frames, self.keeper)

    def _is_retained(self, node: Node) -> int | None:
        marks: dict[Place, Token] | None = noted(node, self._retained)
        window = None if marks is None else min(m.window for m in marks.values())
        return window if window is not None and window < self.windows else None

    def refused(self, error: RuntimeError, roots: list[Tensor]) -> frozenset[Place]:
        """Torch refused a pass because a part of its graph was walked before: freed, or changed."""
        last = self.ended.get(threading.get_ident())
        if last is None or not any(words in str(error) for words in (SECOND_TIME, CHANGED)):
            return NO_PLACES
        if any(node is not None and number_of(node) <= last for node in (r.grad_fn for r in roots)):
            return NO_PLACES  # the same loss twice: nothing was carried anywhere

        def is_freed(node: Node) -> int | None:
            return 1 if leaf_of(node) is None and number_of(node) <= last else None

        # Where it was not freed, a step has changed the weights that the old part was made with.
        is_old = is_freed if SECOND_TIME in str(error) else self._is_retained
        if not any(map(is_old, nodes(roots))):
            return NO_PLACES
        grip = self._holders.carrier(is_old, self._survey())
        if grip is None:
            return NO_PLACES
        self.journal.post(Keep(grip.at, "state", walked=True, holder=grip.name))
        return frozenset({grip.at})


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


def _bottom(root: Node) -> Node | None:
    """A node at the other end of a graph: where the first layer worked on the data."""
    node = root
    for _ in range(MOST_DEEP):
        behind = [n for n, _ in node.next_functions if n is not None and leaf_of(n) is None]
        if not behind:
            break
        # The oldest one: what the others have made (a transposed weight) is of this layer alone.
        node = min(behind, key=number_of)
    return None if node is root else node
