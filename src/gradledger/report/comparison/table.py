"""Lines in columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from gradledger.report.terminal import Line, Piece, width

GAP = "  "


def rows(
    lines: Sequence[Line], *, indent: int = 2, hang: int = 0, right: Collection[int] = ()
) -> Iterator[Line]:
    """The pieces of each line, padded to columns. `hang`: indent all lines but the first."""
    if not lines:
        return
    margins = [" " * (indent + (hang if number else 0)) for number in range(len(lines))]
    widths = [0] * max(map(len, lines))
    for margin, line in zip(margins, lines, strict=True):
        for column, piece in enumerate(line):
            taken = width([piece]) + (len(margin) if column == 0 else 0)
            widths[column] = max(widths[column], taken)
    for margin, line in zip(margins, lines, strict=True):
        pieces: list[Piece] = [margin]
        for column, piece in enumerate(line):
            room = widths[column] - width([piece]) - (len(margin) if column == 0 else 0)
            last = column == len(line) - 1
            before, after = (
                (" " * room, "") if column in right else ("", "" if last else " " * room)
            )
            pieces += [before, piece, after, "" if last else GAP]
        yield pieces
