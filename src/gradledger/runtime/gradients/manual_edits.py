"""Watches code that works on gradients itself: reads, clears, divides, spends them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from types import FrameType
from typing import Any

from torch import Tensor
from torch.overrides import get_default_nowrap_functions

from gradledger.ledger.events import BY_HAND, Clear, Edit, Event, Read, Step
from gradledger.ledger.places import Place
from gradledger.runtime.backward.backwards import Backwards
from gradledger.runtime.backward.running_passes import NO_SLOTS
from gradledger.runtime.gradients.held_gradients import HeldGradient, Known, is_view
from gradledger.runtime.journal.cells import grad_of, look_at, state_of
from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Patches
from gradledger.runtime.program.objects import attributes
from gradledger.runtime.program.threads import WorkingThreads
from gradledger.runtime.tensors.devices import here
from gradledger.runtime.tensors.value_samples import Sample, any_in, edit_between, sample

Done = tuple[str, Place, float | None]
"""What was done, where, and by what factor."""


class ManualEdits:
    """Writes `Read`, `Edit`, and `Clear` and `Step` by hand.

    It has to look at every use of `.grad`, so it begins only where the program's own source
    mentions one.
    """

    def __init__(self, journal: Journal, backwards: Backwards) -> None:
        self.journal = journal
        self.backwards = backwards
        self.watching = False
        self._foreign: set[int] = set()
        """Code that is known not to be the program's: torch uses `.grad` all the time."""
        self._touches: dict[int, HeldGradient] = {}
        self._known: dict[int, Known] = {}
        """By slot."""
        self._done: list[tuple[Done, set[str]]] = []
        """What was done, in order, with the cells it was done to."""

    def watch(self, patches: Patches) -> None:
        """Audit `.grad` until the patches are closed, from when it is needed."""
        self._patches = patches
        self.journal.settlers.append(self._settle)
        self.journal.imported.append(self.begin_if_needed)
        self.journal.met.append(self._met)
        self.journal.concerned.append(self._concerned)
        self.journal.buried.append(self._forget)

    def begin_if_needed(self) -> None:
        """Does some file of the program's mention a `.grad`?"""
        places = self.journal.places
        if self.watching or not any(places.source(path).mentions_grad for path in users(places)):
            return
        self.watching = True
        get_default_nowrap_functions()  # torch remembers the getter that it sees first
        for name in ("grad", "_grad"):
            real: Any = getattr(Tensor, name, None)
            if real is None:
                continue
            set_ = self._setter(real.__set__)
            delete = partial(_set_to_none, set_)
            watched = property(self._getter(real.__get__), set_, delete)
            self._patches.set(Tensor, name, watched)

    # Uses

    def _getter(self, real: Any) -> Any:
        journal, foreign, getframe = self.journal, self._foreign, sys._getframe

        def get(tensor: Tensor) -> Tensor | None:
            grad: Tensor | None = real(tensor)
            if id(getframe(1).f_code) in foreign or grad is None:
                return grad
            frame = _caller()
            if self._is_users(frame) and self._listening(journal):
                with journal.entering:
                    self._taken(tensor, grad, frame)
            return grad

        return get

    def _setter(self, real: Any) -> Any:
        journal, foreign, getframe = self.journal, self._foreign, sys._getframe

        def set_(tensor: Tensor, value: Tensor | None) -> None:
            if id(getframe(1).f_code) in foreign:
                real(tensor, value)
                return
            frame = _caller()
            if not self._is_users(frame) or not self._listening(journal):
                real(tensor, value)
                return
            with journal.entering:
                before = self._before_set(tensor)
                real(tensor, value)
                self._set(tensor, frame, before, value)

        return set_

    def _is_users(self, frame: FrameType) -> bool:
        users = self.journal.places.is_users(frame.f_code)
        if not users and frame.f_code.co_filename != __file__:
            self._foreign.add(id(frame.f_code))
        return users

    @unfailing
    def _before_set(self, tensor: Tensor) -> Sample | None:
        """What the gradient was, also before it was worked on in the same statement."""
        slot = self.journal.cells.slot(tensor)
        if slot is None:
            return None
        old, touch = grad_of(tensor), self._touches.pop(slot, None)
        if touch is not None:
            self._resolve_value(slot, touch)
            return touch.grad
        return None if old is None else sample(old)

    @staticmethod
    def _listening(journal: Journal) -> bool:
        work = journal.thread.work
        return not (journal.asleep or work.depth or work.hushed)

    @unfailing
    def _taken(self, tensor: Tensor, grad: Tensor, frame: FrameType) -> None:
        journal = self.journal
        spot = journal.places.spot(frame)
        source = journal.places.source(spot.place.path)
        uses_value = spot.end not in source.changed_or_asked
        slot = journal.cells.slot(tensor)
        if slot is None:
            # An input, or a tensor that retains its gradient: the latest backward was for it.
            if uses_value and self.backwards.latest:
                journal.post(journal.made(Read, spot.place, self.backwards.latest))
            return
        if (touch := self._touches.get(slot)) is not None:
            if touch.at == spot.place:
                return
            self._resolve(slot)
        if uses_value:
            self._note(("read", spot.place, None), slot)
            self._keep(slot, grad)
        state = look_at(tensor)
        owned = slot in journal.owned
        self._touches[slot] = HeldGradient(spot.place, tensor, state, grad, owned)
        journal.unsettled = True

    @unfailing
    def _set(
        self, leaf: Tensor, frame: FrameType, before: Sample | None, value: Tensor | None
    ) -> None:
        cells, at = self.journal.cells, self.journal.places.spot(frame).place
        slot = cells.slot(leaf)
        if slot is None:
            return
        cells.seen[slot] = look_at(leaf)
        if value is None:
            if before is not None:
                self._note(("clear", at, None), slot)
            return
        self._put(slot, value)
        kind, factor = ("change", None) if before is None else edit_between(before, sample(value))
        done: str = kind
        if kind == "change":
            # A gradient may be zero without having been cleared: ask the source.
            text = self.journal.places.source(at.path).text_at(at.line)
            cleared = before is not None and "zero" in text and not any_in(value)
            done = "zero" if cleared else "assign"
        if done != "same":
            self._note((done, at, factor), slot)

    def _met(self, slots: list[int]) -> None:
        """Leaves are met for the first time: the program may have given them gradients before."""
        if self.watching:
            for slot in slots:
                leaf = self.journal.cells.leaf(slot)
                grad = None if leaf is None else grad_of(leaf)
                if grad is not None:
                    self._put(slot, grad)
                    self.journal.unsettled = True

    def _forget(self, slots: list[int]) -> None:
        for slot in slots:
            self._known.pop(slot, None)
            self._touches.pop(slot, None)

    def _put(self, slot: int, grad: Tensor) -> None:
        """The program has put a tensor of its own there."""
        self._keep(slot, grad)
        if is_view(grad):
            # A deposit in one of them makes all that share its memory look new.
            self.backwards.walks.shared = True

    def _keep(self, slot: int, grad: Tensor) -> None:
        known = self._known.get(slot)
        if known is None or known.number != id(grad):
            self._known[slot] = Known(grad)

    # What became of it

    def _resolve(self, slot: int) -> None:
        """Tell what was done to a gradient since it was taken."""
        touch, cells = self._touches.pop(slot), self.journal.cells
        leaf = cells.leaf(slot)
        if leaf is None:
            self._note(("read", touch.at, None), slot)  # what was done with it is unknown
            return
        self._resolve_value(slot, touch)
        state, grad = look_at(leaf), grad_of(leaf)
        if grad is None:
            self._note(("clear", touch.at, None), slot)
        else:
            kind, factor = edit_between(touch.grad, sample(grad))
            unclear = kind == "same" or (kind == "change" and not here(grad))
            if unclear and state != touch.state and touch.state and not any_in(grad):
                text = self.journal.places.source(touch.at.path).text_at(touch.at.line)
                kind = "zero" if "zero" in text else kind
            if kind != "same":
                self._note((kind, touch.at, factor), slot)
        cells.seen[slot] = state

    def _resolve_value(self, slot: int, touch: HeldGradient) -> None:
        leaf = self.journal.cells.leaf(slot)
        if touch.value is None or leaf is None or slot in self.journal.owned:
            return
        if edit_between(touch.value, sample(leaf))[0] != "same":
            self._note(("spend", touch.at, None), slot)

    def _settle(self, at: Place) -> None:
        workers, walks = WorkingThreads(), self.backwards.walks
        # What a pass is writing just now, only that pass may look at: it tells what is new there.
        busy = walks.elsewhere() if self._touches else NO_SLOTS
        for slot, touch in list(self._touches.items()):
            if slot not in busy and not workers.works(touch.thread):
                self._resolve(slot)
        self.journal.left_open = bool(self._touches)
        self.journal.unsettled = self.journal.unsettled or self.journal.left_open
        if self._known and not walks.threaded and not any(map(workers.works, walks.threads)):
            self._look_behind_names(list(self._known), at)
        self.journal.unsettled = self.journal.unsettled or bool(self._known)
        done, self._done = self._done, []
        if any(kind == "spend" for (kind, _, _), _ in done):
            self.backwards.kept.windows += 1
        for (kind, place, factor), names in done:
            self.journal.post(self._event(kind, place, factor, frozenset(names)))

    def _concerned(self, slots: Iterable[int], at: Place) -> None:
        """The program is about to use these gradients: no other thread has them in its hands."""
        for slot in [slot for slot in slots if slot in self._touches]:
            self._resolve(slot)
        if self._known:
            self._look_behind_names([slot for slot in slots if slot in self._known], at)

    def _look_behind_names(self, slots: list[int], at: Place) -> None:
        """Tell what was done without a `.grad`: `flat.zero_()`, of which they are views."""
        cells = self.journal.cells
        changed: dict[int, tuple[str, float | None]] = {}
        for slot in slots:
            if slot in self._touches:
                continue
            known = self._known[slot]
            leaf, seen = cells.leaf(slot), cells.seen[slot]
            grad = None if leaf is None else grad_of(leaf)
            if grad is None or id(grad) != known.number:
                del self._known[slot]
                continue
            now = state_of(grad)
            if seen is not None and seen != now:
                cells.seen[slot] = now
                changed[slot] = known.edit(grad, seen)
            known.look(grad, now)
        kinds = {kind for kind, _ in changed.values()} - {"same"}
        for slot, (kind, factor) in changed.items():
            # One may be zero by itself: others, that were changed with it, tell.
            # Nor can one be read that lies elsewhere: who has spent it clears it then.
            leaf = cells.leaf(slot)
            alone = len(kinds) == 1 and leaf is not None and here(leaf)
            if kind == "zero" and not alone and self._holds_fresh(slot):
                kind = "change"
            if kind != "same":
                self._note((kind, at, factor), slot)

    def _holds_fresh(self, slot: int) -> bool:
        groups = self.journal.book.page.among(frozenset({self.journal.cells.names[slot]}))
        return any(cell.fresh for _, cell in groups)

    def _event(self, kind: str, at: Place, factor: float | None, cells: frozenset[str]) -> Event:
        made = self.journal.made
        match kind:
            case "read":
                return made(Read, at, cells)
            case "clear" | "zero":
                return made(Clear, at, cells, kind == "clear")
            case "spend":
                return made(Step, at, BY_HAND, cells)
            case _:
                return made(Edit, at, cells, kind, factor)

    def _note(self, done: Done, slot: int) -> None:
        """One entry for a loop over parameters, not one for each; in order for each cell."""
        self.journal.unsettled = True
        name = self.journal.cells.names[slot]
        for known, names in reversed(self._done):
            if name in names:
                break
            if known == done:
                names.add(name)
                return
        self._done.append((done, {name}))


def _set_to_none(set_: Any, tensor: Tensor) -> None:
    set_(tensor, None)


def _caller() -> FrameType:
    """Who uses a `.grad`: behind us, and behind another audit that watches it, too."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return frame


def users(places: Any) -> list[str]:
    """The files of the program that are loaded."""
    found = list(places.met)
    for module in list(sys.modules.values()):
        path = attributes(module).get("__file__")
        if type(path) is str and path.endswith(".py") and places.is_users_file(path):
            found.append(path)
    return list(dict.fromkeys(found))
