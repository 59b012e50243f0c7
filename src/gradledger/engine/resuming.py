"""The state of a Stepper: what is needed to go on bit for bit, also inside a window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from gradledger.engine import randomness
from gradledger.engine.checkpoint.fitting import kind_of
from gradledger.engine.checkpoint.kinds import misfits
from gradledger.engine.cycle import Cycle
from gradledger.engine.passes import Comeback, Position, all_generators, own_states
from gradledger.engine.soundness import flaws, unlike

VERSION = 2
OLDEST = 1
"""States of this version are read, too. They do not say what they are made of."""

_COUNTS = ("updates", "skipped", "dropped")
_WINDOW = ("begun", "deposits", "weight", "first_items", "dropped")


def state_of(cycle: Cycle, position: Position, own: list[torch.Generator]) -> dict[str, Any]:
    """The state, in values that any checkpoint can hold.

    A micro-batch that was drawn and not deposited counts as not drawn: it will be drawn again,
    unless the one who reads the data for this Stepper is done with it.
    `own`: the data's own generators.
    """
    turn = cycle.window.turn
    now = all_generators(own)
    if position.comeback is not None:
        now |= own_states(position.comeback.now)
    begun, done, dropped = cycle.window.begun, position.done, cycle.window.dropped
    again = turn is not None and cycle.company.will_redraw(turn)
    if turn is not None and again:
        begun -= 1
    elif turn is not None and not turn.complete:
        dropped |= cycle.parts.options.on_fault == "drop"
    if position.drawing or (turn is not None and turn.drawn and again):
        now |= position.before_draw
    else:
        done += position.drawn
    places = {id(p): i for i, p in enumerate(cycle.parts.ownership.parameters())}
    scaler = cycle.parts.scaling.scaler
    return {
        "version": VERSION,
        "accumulate": cycle.window.size,
        "parameters": _labels(cycle),
        "window": {key: getattr(cycle.window, key) for key in _WINDOW}
        | {"begun": begun, "dropped": dropped}
        | {"itemless": cycle.deposits.itemless, "unit": cycle.parts.scaling.unit},
        "losses": [(which, loss.clone()) for which, loss in cycle.window.losses],
        "sums": [(places[id(p)], total.clone()) for p, total in cycle.parts.sums.each()],
        "packs": [[places[id(p)] for p in pack.members] for pack in cycle.parts.packing.packs],
        "irregular": [
            (places[i], why) for i, (_, why) in cycle.parts.packing.irregular.items() if i in places
        ],
        "packed": not cycle.parts.packing.stale,
        "counts": {key: getattr(cycle.closing, key) for key in _COUNTS},
        "position": {"epoch": position.epoch, "done": done, "length": position.length},
        "start": position.start,
        "random": now,
        "scaler": None if scaler is None else scaler.state_dict(),
        "schedulers": [(type(s).__name__, s.state_dict()) for s in cycle.parts.schedulers],
    }


def differences(state: object, cycle: Cycle) -> list[str]:
    """Why a state can't be gone on from here, in sentences. None: it can."""
    live = state_of(cycle, Position(), [])
    if not isinstance(state, Mapping) or "version" not in state:
        return ["it is no Stepper's state"]
    version = state["version"]
    if type(version) is not int or not OLDEST <= version <= VERSION:
        return [f"its version is {version}, and this gradledger reads version {VERSION}"]
    parameters = cycle.parts.ownership.parameters()
    try:
        found = list(_missing(state, live)) or list(_unlike(state, live, parameters))
    except Exception as error:  # something is of a kind that nobody has thought of
        found = [f"it is damaged: {type(error).__name__}: {error}"]
    return found or (misfits(state) if version > OLDEST or "kinds" in state else [])


def _missing(state: Mapping[str, Any], live: Mapping[str, Any]) -> Iterator[str]:
    """What is not there, or is something else."""
    for key, value in live.items():
        if key not in state:
            yield f"it has no {key!r}"
        elif isinstance(value, dict) and key in ("window", "counts", "position", "random"):
            there = state[key] if isinstance(state[key], Mapping) else {}
            # NumPy's generator is there only where NumPy was loaded.
            yield from (
                f"its {key!r} has no {inner!r}"
                for inner in value
                if inner not in there and inner not in ("numpy", "cuda")
            )
        elif isinstance(value, list) and not isinstance(state[key], list):
            yield f"its {key!r} is no list"


def _unlike(
    state: Mapping[str, Any], live: Mapping[str, Any], parameters: Sequence[Tensor]
) -> Iterator[str]:
    """What was of another Stepper, or of none."""
    if state["parameters"] != live["parameters"]:
        pairs = zip(state["parameters"], live["parameters"], strict=False)
        first = next((f": {a} where now is {b}" for a, b in pairs if a != b), "")
        were, are = len(state["parameters"]), len(live["parameters"])
        yield f"it was of other parameters ({were}, now {are}){first}"
        return
    if damaged := list(flaws(state, live, parameters)):
        yield from damaged
        return
    if state["window"]["begun"] and state["accumulate"] != live["accumulate"]:
        yield (
            f"it is in the middle of a window of accumulate={state['accumulate']}, and this "
            f"Stepper has accumulate={live['accumulate']}"
        )
    if (state["scaler"] is None) != (live["scaler"] is None):
        yield "one of the two has an enabled GradScaler and the other has not"
    then, now = ([name for name, _ in each["schedulers"]] for each in (state, live))
    if then != now:
        yield f"its schedulers were [{', '.join(then)}] and are [{', '.join(now)}]"
    elif wrong := [
        name
        for (name, saved), (_, here) in zip(state["schedulers"], live["schedulers"], strict=True)
        if unlike(saved, here)
    ]:
        yield f"its state of the scheduler {wrong[0]} is damaged"


def go_on(state: Mapping[str, Any], cycle: Cycle) -> Position:
    """Puts everything back as it was, and says where in the data that is.

    `differences` has found none. A pass that is under way keeps the place where it is.
    """
    parameters = cycle.parts.ownership.parameters()
    cycle.window.turn = None
    cycle.parts.ownership.changed()  # an optimizer that has loaded its state has other groups
    cycle.parts.ownership.clear()
    cycle.closing.forget()
    cycle.parts.packing.build_as(
        [[parameters[i] for i in pack] for pack in state["packs"]],
        [(parameters[i], why) for i, why in state["irregular"]],
        settled=state["packed"],
    )
    for key in _COUNTS:
        setattr(cycle.closing, key, state["counts"][key])
    for key in _WINDOW:
        setattr(cycle.window, key, state["window"][key])
    cycle.window.losses.extend((which, loss) for which, loss in state["losses"])
    cycle.entered += 1  # whoever saved this has trained
    cycle.deposits.itemless = state["window"]["itemless"]
    if cycle.parts.scaling.scaler is not None:
        cycle.parts.scaling.scaler.load_state_dict(state["scaler"])
        if cycle.window.deposits:
            cycle.parts.scaling.unit = state["window"]["unit"]
    sums: list[tuple[Tensor, Tensor]] = [(parameters[i], total) for i, total in state["sums"]]
    cycle.parts.sums.restore(sums)
    cycle.parts.telling.taken_up([p for p, _ in sums])
    for scheduler, (_, saved) in zip(cycle.parts.schedulers, state["schedulers"], strict=True):
        scheduler.load_state_dict(saved)
    randomness.restore(state["random"])
    place = {key: state["position"][key] for key in ("epoch", "done", "length")}
    comeback = Comeback(state["start"], dict(state["random"]), place["length"])
    return Position(**place, start=state["start"], comeback=comeback)


class Before:
    """A Stepper as it is, to come back to where a state turns out not to fit after all."""

    def __init__(self, cycle: Cycle, position: Position) -> None:
        self._cycle = cycle
        self._state = state_of(cycle, position, [])
        self._random = randomness.capture()
        self._turn, self._begun = cycle.window.turn, cycle.window.begun
        self._dropped = cycle.window.dropped

    def come_back(self) -> None:
        """Puts it back. Its place in the data has not changed."""
        go_on(self._state, self._cycle)
        randomness.restore(self._random)
        window = self._cycle.window
        window.turn, window.begun, window.dropped = self._turn, self._begun, self._dropped


def _labels(cycle: Cycle) -> list[str]:
    names = cycle.parts.ownership.names()
    return [f"{names[id(p)]} ({kind_of(p)})" for p in cycle.parts.ownership.parameters()]
