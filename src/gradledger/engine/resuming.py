"""The state of a Stepper: what is needed to go on bit for bit, also inside a window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from gradledger.engine import randomness
from gradledger.engine.cycle import Cycle
from gradledger.engine.passes import Comeback, Position, all_generators

VERSION = 1

_COUNTS = ("updates", "skipped", "dropped")
_WINDOW = ("begun", "deposits", "weight", "first_items", "dropped")


def state_of(cycle: Cycle, position: Position, data: object) -> dict[str, Any]:
    """The state, in values that any checkpoint can hold.

    A micro-batch that was drawn and not deposited counts as not drawn: it will be drawn again.
    """
    turn = cycle.turn
    now = all_generators(data)
    begun, done = cycle.window.begun, position.done
    if turn is not None and turn.complete:
        done += turn.drawn
    elif turn is not None:
        begun -= 1
        if turn.drawn:
            now |= position.before_draw
    places = {id(p): i for i, p in enumerate(cycle.ownership.parameters())}
    return {
        "version": VERSION,
        "accumulate": cycle.window.size,
        "window": {key: getattr(cycle.window, key) for key in _WINDOW}
        | {"begun": begun, "itemless": cycle.itemless, "unit": cycle.scaling.unit},
        "sums": [(places[id(p)], total.clone()) for p, total in cycle.sums.each()],
        "packs": [[places[id(p)] for p in pack.members] for pack in cycle.packing.packs],
        "irregular": [
            (places[i], why) for i, (_, why) in cycle.packing.irregular.items() if i in places
        ],
        "packed": not cycle.packing.stale,
        "counts": {key: getattr(cycle, key) for key in _COUNTS},
        "position": {"epoch": position.epoch, "done": done, "length": position.length},
        "start": position.start,
        "random": now,
        "scaler": None if cycle.scaling.scaler is None else cycle.scaling.scaler.state_dict(),
        "schedulers": [scheduler.state_dict() for scheduler in cycle.schedulers],
    }


def differences(state: Mapping[str, Any], cycle: Cycle) -> list[str]:
    """Why a state can't be gone on from here, in sentences. None: it can."""
    missing = {"version", "accumulate", "window", "sums", "position", "random"} - set(state)
    if missing:
        return [f"it is no Stepper's state: {', '.join(sorted(missing))} is not in it"]
    if state["version"] != VERSION:
        return [f"its version is {state['version']}, and this gradledger reads version {VERSION}"]
    found = []
    if state["window"]["begun"] and state["accumulate"] != cycle.window.size:
        found.append(
            f"it is in the middle of a window of accumulate={state['accumulate']}, and this "
            f"Stepper has accumulate={cycle.window.size}"
        )
    if (state["scaler"] is None) != (cycle.scaling.scaler is None):
        found.append("one of the two has an enabled GradScaler and the other has not")
    if len(state["schedulers"]) != len(cycle.schedulers):
        theirs, ours = len(state["schedulers"]), len(cycle.schedulers)
        found.append(f"it has {theirs} schedulers, and this Stepper has {ours}")
    parameters = cycle.ownership.parameters()
    for place, total in state["sums"]:
        if place >= len(parameters):
            found.append(
                f"it has a gradient for parameter {place}, and there are {len(parameters)}"
            )
        elif total.shape != parameters[place].shape:
            found.append(
                f"its gradient for parameter {place} has shape {tuple(total.shape)}, and the "
                f"parameter has {tuple(parameters[place].shape)}"
            )
    return found


def go_on(state: Mapping[str, Any], cycle: Cycle, position: Position) -> Comeback:
    """Puts everything back as it was. `differences` has found none."""
    parameters = cycle.ownership.parameters()
    cycle.turn = None
    cycle.ownership.changed()  # an optimizer that has loaded its state has other groups
    cycle.ownership.clear()
    cycle.forget()
    cycle.packing.build_as(
        [[parameters[i] for i in pack] for pack in state["packs"]],
        [(parameters[i], why) for i, why in state["irregular"]],
        settled=state["packed"],
    )
    for key in _COUNTS:
        setattr(cycle, key, state["counts"][key])
    for key in _WINDOW:
        setattr(cycle.window, key, state["window"][key])
    cycle.itemless = state["window"]["itemless"]
    if cycle.scaling.scaler is not None:
        cycle.scaling.scaler.load_state_dict(state["scaler"])
        if cycle.window.deposits:
            cycle.scaling.unit = state["window"]["unit"]
    sums: list[tuple[Tensor, Tensor]] = [(parameters[i], total) for i, total in state["sums"]]
    cycle.sums.restore(sums)
    cycle.telling.taken_up(p for p, _ in sums)
    for scheduler, saved in zip(cycle.schedulers, state["schedulers"], strict=True):
        scheduler.load_state_dict(saved)
    for key, value in state["position"].items():
        setattr(position, key, value)
    position.start = state["start"]
    randomness.restore(state["random"])
    return Comeback(state["start"], dict(state["random"]), position.length)
