"""Where in the code something happened."""

from __future__ import annotations

from gradledger.ledger.values import Value

_CELL = "<cell "


def cell_path(number: int) -> str:
    """The path of a cell of the notebook that is running, which is in no file that people know."""
    return f"{_CELL}{number}>"


class Place(Value):
    """The first line of a call, as a person would look it up.

    `via` tells two calls of one helper apart: the line in it is the same, the caller is not.
    """

    path: str
    line: int
    column: int = 0
    via: Place | None = None

    def __str__(self) -> str:
        if self.path.startswith(_CELL):
            return f"{self.path[1:-1]}, line {self.line}"
        return f"{self.path}:{self.line}"

    @property
    def way(self) -> tuple[Place, ...]:
        """This place, and the calls that led to it, innermost first."""
        return (self,) if self.via is None else (self, *self.via.way)

    @property
    def sort_key(self) -> tuple[str, int, int]:
        """Places in reading order."""
        return self.path, self.line, self.column
