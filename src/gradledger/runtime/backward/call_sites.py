"""Call sites of backward: what is known of each, so that most passes need little looking."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from gradledger.ledger.events import Backward, Batch
from gradledger.ledger.places import Place
from gradledger.runtime.backward.graph_holders import Grip
from gradledger.runtime.batches.data_origins import Origin
from gradledger.runtime.batches.drawn_batches import Draw

FEW = 4
"""Graphs of a site's losses that may well be alive at a time: this pass's, the last one's …"""
ALWAYS = 16
"""The first passes of a site are looked at closely, whatever they are."""


CLOSELY = 4
"""So many of them are walked, also where there is nothing to be seen."""
LONG = 64
"""So many, where windows may be as long."""
NEAR = 32
"""So many of the last nodes are looked at for the batch, also where none was drawn ahead so far."""
RARELY = 8
"""Of so many later passes one is looked at, as long as there is nothing to be seen."""


class Token:
    """Lies in nodes of a graph, and dies with the last of them."""

    __slots__ = ("__weakref__", "window")

    def __init__(self, window: int) -> None:
        self.window = window


def _nothing() -> None:
    """There is no such graph."""


class Site:
    """One line that calls backward."""

    def __init__(self, at: Place) -> None:
        self.at = at
        self.passes = 0
        self.next_walk = 1
        """The pass whose graph is to be walked next."""
        self.fills = True
        """Its latest pass has put something into cells that are known."""
        self.weighs = True
        """Does the weight of its loss matter? Only windows of several are ever judged."""
        self.window = -1
        """Steps before its latest pass."""
        self.accumulates = False
        """More than one pass of it has gone into a window."""
        self.began_late = False
        """Its pass before is the first of the first window of several, and was not read."""
        self.goes_on = False
        """Its latest pass is not the first of its window."""
        self.origin: Origin | None = None
        """What its latest pass went through, if that was looked at."""
        self.batch: Batch | None = None
        """Told before each pass, where each is of another batch and no loader says so."""
        self.each_is_a_batch = False
        """A framework says that each pass is of another batch."""
        self.draw: Draw | None = None
        """The drawn batch that its latest pass was of, if that was looked for and found."""
        self.drawn_ahead = False
        """Passes of one window were made with no batch drawn in between."""
        self.told = -1
        """Batches that had begun, as far as loaders tell, before its latest pass."""
        self.data_in: set[type] = set()
        """The kinds of nodes that had its batches in them."""
        self.draws_missed = 0
        """Passes whose last nodes had nothing of a batch in them."""
        self.counts = False
        """Its passes so far are alike, of different data, and in rounds that are counted."""
        self.reaches_inputs = False
        """Its graph ends also in leaves that aren't parameters, and that no optimizer owns."""
        self.hooked = False
        """Hooks of its leaves may change what arrives: by how much is unknown."""
        self.unclear = False
        """Some of its passes were of other batches, and others of the same, in one window."""
        self.unweighed = False
        """How much its deposits count is unknown, for one of these reasons."""
        self.fields: tuple[object, ...] = (None,)
        self.event: Backward
        """The latest event, and what it was made of."""
        self.next_count = 1
        """The pass whose graph is to be counted next."""
        self.alive: set[weakref.ref[Token]] = set()
        """Graphs of its losses that still exist."""
        self.retained: Callable[[], Token | None] = _nothing
        """What is left of the graph that its latest pass has retained, as far as was looked."""
        self.walked: frozenset[Place] = frozenset()
        """Where the graphs were kept that its passes walked again, as far as was looked."""
        self.kept: Grip | None = None
        """What holds on to the graphs of its losses."""
        self.kept_since = 0
        """Steps before the oldest of them."""
        self.most_alive = self.next_search = FEW
        """Holders are looked for when there are more than this."""
        self.carried: Grip | None = None
        """What carries graphs that its passes retain from one to the next."""
        self.carried_since: int | None = None
        """Steps before the oldest graph that its latest pass went back to, if it was looked at."""
        self.next_look = 1
        """The pass from which on that is looked for again."""

    def new_pass(self, window: int) -> None:
        """Another pass begins, after so many steps."""
        self.passes += 1
        self.goes_on = window == self.window
        if self.goes_on:
            self.began_late = not self.weighs and not self.accumulates
            self.accumulates = True
        self.window = window
        self.weighs = self.accumulates or self.passes <= ALWAYS

    @property
    def looks_for_batch(self) -> bool:
        """Whether to look which batch it is of, in case that others are drawn ahead."""
        return self.weighs and self.draws_missed < CLOSELY

    def walks_now(self, *, retain: bool) -> None:
        """This pass's graph is walked: at first all are, then ever more rarely."""
        always = ALWAYS if retain or self.walked else CLOSELY
        soon = self.passes < always or self.counts
        self.next_walk = self.passes + 1 if soon else 2 * self.passes

    def counts_now(self) -> None:
        """This pass's graph is counted. Where none is kept, later ones are only now and then."""
        if self.passes > ALWAYS and not self.alive:
            self.next_count = self.passes + RARELY

    @property
    def living(self) -> list[Token]:
        """Those of the graphs that still exist."""
        return [token for ref in list(self.alive) if (token := ref()) is not None]

    def token(self, window: int) -> Token:
        """A new one, counted among the living until it dies."""
        token = Token(window)
        self.alive.add(weakref.ref(token, self.alive.discard))
        return token
