"""What a state is made of: saved with it, and compared when it is loaded.

Nobody can tell from outside what a scheduler or an optimizer keeps, and torch finds out in the
first step that needs it. What was there when it was saved has to be there when it is loaded: every
key, with the type and the shape that it had.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from torch import Tensor

from gradledger.engine.checkpoint.fitting import kind_of

FEW = 3


def described(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state, with what it is made of."""
    rest = {key: value for key, value in state.items() if key != "kinds"}
    return rest | {"kinds": kinds(rest)}


def kinds(value: Any) -> dict[str, str]:
    """The kind of every value inside, by its place."""
    return dict(_walk(value, ""))


def misfits(state: Mapping[str, Any], *, besides: Collection[str] = ()) -> list[str]:
    """What is not as it was when the state was saved, in sentences.

    `besides`: keys that came to it later.
    """
    were = state.get("kinds")
    if not isinstance(were, Mapping):
        return ["it does not say what it is made of ('kinds')"]
    are = kinds({key: value for key, value in state.items() if key not in ("kinds", *besides)})
    places = [place for place in {**were, **are} if were.get(place) != are.get(place)]
    found = [
        f"its {place} was {were.get(place, 'not there')} and is {are.get(place, 'not there')}"
        for place in places[:FEW]
    ]
    more = len(places) - FEW
    return [*found, f"and {more} more"] if more > 0 else found


def _walk(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        yield place, f"a dict of {len(value)}"
        for key, item in value.items():
            yield from _walk(item, f"{place}[{key!r}]")
    elif isinstance(value, list | tuple) and not hasattr(value, "numel"):
        each = {_kind(item) for item in value}
        if len(each) == 1 and not isinstance(value[0], Mapping | list | tuple):
            yield place, f"a list of {len(value)}: {each.pop()}"
            return
        yield place, f"a list of {len(value)}"
        for at, item in enumerate(value):
            yield from _walk(item, f"{place}[{at}]")
    else:
        yield place, _kind(value)


def _kind(value: Any) -> str:
    if isinstance(value, Tensor):
        return kind_of(value)
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        value = value.item()  # as it comes back from a file
    return type(value).__name__
