"""Edits of a notebook's code in the JSON around it, of which every other byte is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from gradledger.static.fix.edits import Edit, edited
from gradledger.static.source.files import Cell, Source

_SPACE = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode


def edited_notebook(data: bytes, source: Source, edits: Sequence[Edit]) -> bytes | None:
    """The notebook after edits of its joined text; None where they are not plain edits of cells."""
    text = data.decode("utf-8")
    spans = _sources(text)
    changes: dict[int, list[Edit]] = {}
    for edit in edits:
        cell, own = _in_cell(source, edit)
        if cell is None or cell.number not in spans:
            return None
        changes.setdefault(cell.number, []).append(own)
    rewritten = []
    for cell in source.cells:
        if cell.number in changes:
            start, end = spans[cell.number]
            new = _changed_cell(text[start:end], _own_lines(source, cell), changes[cell.number])
            if new is None:
                return None
            rewritten.append(Edit(start, end, new))
    return edited(text, rewritten).encode("utf-8")


def _in_cell(source: Source, edit: Edit) -> tuple[Cell | None, Edit]:
    """The cell that an edit is in, and the edit with places in that cell's text."""
    for cell in source.cells:
        start = _line_start(source.text, cell.start)
        end = start + len("\n".join(_own_lines(source, cell)))
        if not start <= edit.start <= end:
            continue
        first, last = edit.start - start, edit.end - start
        if edit.end == end + 1:  # a last line: what ends it here is not in the cell
            first, last = (first - 1, last - 1) if first else (first, last - 1)
        return (cell if last <= end - start else None), Edit(first, last, edit.new)
    return None, edit


def _own_lines(source: Source, cell: Cell) -> list[str]:
    return source.text.split("\n")[cell.start - 1 : cell.start - 1 + cell.lines]


def _line_start(text: str, line: int) -> int:
    return sum(len(one) + 1 for one in text.split("\n")[: line - 1])


def _changed_cell(value: str, lines: list[str], edits: Sequence[Edit]) -> str | None:
    """The JSON of a cell's code after the edits; None where its lines are not what was read."""
    old = json.loads(value)
    parts = [old] if isinstance(old, str) else old
    code = "".join(parts)
    # Magics, other line ends and an indented cell are not as they stand there.
    if code.split("\n") != lines:
        return None
    new = edited(code, edits)
    if isinstance(old, str):
        return _written(new, value)
    return _changed_list(value, parts, new)


def _changed_list(value: str, old: list[str], code: str) -> str | None:
    """A list of lines, with those that are still there as they were written."""
    new = re.findall(r"[^\n]*\n|[^\n]+", code)
    spans = list(_items(value, 0))
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    tail = 0
    while tail < min(len(old), len(new)) - same and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    written = [_written(line, value) for line in new[same : len(new) - tail]]
    literals = [value[start:end] for start, end in spans]
    kept_tail = literals[len(literals) - tail :] if tail else []
    # What stands between two lines; of one line alone, what stands before it.
    between = value[spans[0][1] : spans[1][0]] if len(spans) > 1 else "," + value[1 : spans[0][0]]
    inner = between.join([*literals[:same], *written, *kept_tail])
    return value[: spans[0][0]] + inner + value[spans[-1][1] :]


def _written(line: str, like: str) -> str:
    """The text in JSON, with letters of other languages as they are there."""
    return json.dumps(line, ensure_ascii=like.isascii())


def _sources(text: str) -> dict[int, tuple[int, int]]:
    """Where the code of each cell stands in the JSON, by the cell's number."""
    found: dict[int, tuple[int, int]] = {}
    for key, start, _ in _members(text, _SPACE.match(text).end()):  # type: ignore[union-attr]
        if key == "cells":
            found = {
                number: (begin, end)
                for number, (place, _) in enumerate(_items(text, start), 1)
                if text[place] == "{"
                for name, begin, end in _members(text, place)
                if name == "source"
            }
    return found


def _members(text: str, place: int) -> Iterator[tuple[str, int, int]]:
    """Each key of a JSON object, and where its value begins and ends."""
    place = _skip(text, place + 1)
    while text[place] != "}":
        key, place = _decode(text, place)
        start = _skip(text, _skip(text, place) + 1)
        _, end = _decode(text, start)
        yield key, start, end
        place = _next(text, end)


def _items(text: str, place: int) -> Iterator[tuple[int, int]]:
    """Where each item of a JSON list begins and ends."""
    place = _skip(text, place + 1)
    while text[place] != "]":
        _, end = _decode(text, place)
        yield place, end
        place = _next(text, end)


def _next(text: str, place: int) -> int:
    place = _skip(text, place)
    return _skip(text, place + 1) if text[place] == "," else place


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    assert found is not None
    return found.end()
