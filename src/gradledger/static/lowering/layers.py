"""Layers: classes that are written on top of each other, and made into one at the top.

Each file of the walk goes on where the one below it ends, so its class names that one as its
parent. Of this Python would make a line of thirty ancestors, and in each of them it looks for some
ninety special methods, for every class of the line: all of that before a file is read. So a layer
is made by itself, and the whole alone has them as its parents, in the same order.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Layer(type):
    """Makes a class that knows the layers below it; made `whole`, it has all that they have."""

    layers: tuple[type, ...]
    """The class, and those that it stands on, from the top down."""

    def __new__(
        cls, name: str, bases: tuple[type, ...], body: dict[str, Any], *, whole: bool = False
    ) -> Layer:
        below = [layer for base in bases if isinstance(base, Layer) for layer in base.layers]
        others = [base for base in bases if not isinstance(base, Layer)]
        made = super().__new__(cls, name, (*(below if whole else ()), *others), body)
        made.layers = (made, *below)
        return made

    if not TYPE_CHECKING:  # to type checkers, the layers below are parents

        def __getattr__(cls, name: str) -> Any:
            """What a layer below has, for who asks the class."""
            for layer in cls.layers[1:]:
                if name in vars(layer):
                    return vars(layer)[name]
            raise AttributeError(f"{cls.__name__} has no {name}, nor have the layers below it")
