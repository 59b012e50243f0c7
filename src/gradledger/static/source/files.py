"""The text of a file that is to be checked, and its tree; or why there is none."""

from __future__ import annotations

import os
import stat

from gradledger.ledger.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

_BOM = b"\xef\xbb\xbf"
_WIDE = (
    (b"\xff\xfe\0\0", "UTF-32"),
    (b"\0\0\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
_COOKIE = rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)"
_NO_CODE = rb"[ \t\f]*(?:#|\r?$)"


class Undecodable(Exception):
    """The bytes are no text of Python's. The message says what to do about it."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


def decode(data: bytes) -> str:
    """The text, without a byte order mark. Its line ends are as they were."""
    for mark, name in _WIDE:
        if data.startswith(mark):
            raise Undecodable(1, f"it is {name}, which Python does not read. Save it as UTF-8")
    marked = data.startswith(_BOM)
    declared = None if marked else _declared(data)
    try:
        # Not as utf-8-sig, which is a module that most files can do without.
        text = data[len(_BOM) :].decode() if marked else data.decode(declared or "utf-8")
    except UnicodeDecodeError as error:
        raise Undecodable(_line(data, error.start), _not_text(data, error, declared)) from None
    except LookupError:
        message = f"it declares the encoding {declared!r}, which Python does not know"
        raise Undecodable(1, message) from None
    except ValueError as error:  # codecs that are for something else: idna, undefined
        raise Undecodable(1, f"it can't be read as {declared!r}: {error}") from None
    nul = text.find("\0")
    if nul >= 0:
        line = text.count("\n", 0, nul) + 1
        raise Undecodable(line, "it holds a NUL byte, so it is data or damaged, not Python")
    return text


def encoded(text: str, *, like: bytes) -> bytes:
    """The other way: the text in the encoding of the bytes it came from, with a mark as there."""
    mark = _BOM if like.startswith(_BOM) else b""
    return mark + text.encode((not mark and _declared(like)) or "utf-8")


def _declared(data: bytes) -> str | None:
    """The encoding that a comment in one of the first two lines names (PEP 263)."""
    lines = data[:1000].split(b"\n", 2)[:2]
    if not any(b"coding" in line for line in lines):
        return None
    import re

    for line in lines:
        cookie = re.match(_COOKIE, line)
        if cookie:
            return cookie[1].decode("ascii", "replace")
        if not re.match(_NO_CODE, line):
            return None
    return None


def _line(data: bytes, place: int) -> int:
    return data.count(b"\n", 0, place) + 1


def _not_text(data: bytes, error: UnicodeDecodeError, declared: str | None) -> str:
    what = f"byte 0x{data[error.start]:02x} on this line is not {error.encoding}"
    if declared:
        return f"{what}, the encoding that the file declares. Declare the one it is written in"
    return f"{what}. Save the file as UTF-8, or declare its encoding: # -*- coding: latin-1 -*-"


_UNREADABLE = "it can't be read: "


class Trouble(NamedTuple):
    """A file, or a cell of a notebook, that could not be read as Python. One line says why."""

    path: str
    line: int
    """The first line is 1; 0 where it is the file as a whole."""
    message: str
    """What is the matter, and what to do; without the place, and without a full stop."""

    @property
    def reason(self) -> str:
        """Why it can't be read, without saying that it can't."""
        return self.message.removeprefix(_UNREADABLE)


class Cell(NamedTuple):
    """A code cell of a notebook, and where its lines stand in the joined text."""

    number: int
    """Counted from 1 over all cells of the notebook, as people see them."""
    start: int
    """The line of the joined text, from 1, that holds the cell's first line."""
    lines: int


def _start_of(cell: Cell) -> int:
    return cell.start


class Source:
    """The Python text of one file, under the path by which people know it.

    Of a notebook, all code cells joined, with `cells` to find the way back; what is no Python in
    them (magics, shell) is neutralised, and every line stays where it was.
    """

    __slots__ = ("_parsed", "cells", "path", "text")

    def __init__(self, path: str, text: str, cells: tuple[Cell, ...] = ()) -> None:
        self.path = path
        self.text = text
        self.cells = cells
        self._parsed: ast.Module | Trouble | None = None

    def locate(self, line: int) -> tuple[int, int]:
        """The cell and the line in it that a line of the joined text stands for.

        A plain file has no cells: its number is 0 and the line is the line.
        """
        if not self.cells:
            return 0, line
        from bisect import bisect_right

        at = bisect_right(self.cells, line, key=_start_of)
        if not at:
            return self.cells[0].number, 1
        cell = self.cells[at - 1]
        return cell.number, line - cell.start + 1


def read(path: str) -> Source | Trouble:
    """The file as Python text, whatever its encoding; a notebook as all its code."""
    data = read_bytes(path)
    return data if isinstance(data, Trouble) else from_bytes(path, data)


def read_bytes(path: str, *, most: int | None = None) -> bytes | Trouble:
    """All that is in the file; or so many bytes of its beginning, and no more."""
    try:
        # To open a pipe that nobody writes to would wait for ever, too.
        descriptor = os.open(path, os.O_RDONLY | _BINARY | _NO_WAITING)
        try:
            status = os.fstat(descriptor)
            kind = status.st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind) or _is_given(path, kind)):
                return Trouble(path, 0, f"{_UNREADABLE}it is a device or a pipe, not a file")
            if _NO_WAITING and not stat.S_ISREG(kind):
                os.set_blocking(descriptor, True)
            if most is not None:
                return os.read(descriptor, most)
            size = status.st_size
            data = os.read(descriptor, size + 1)
            parts = [data]
            # A file that is not written to just now ends there; a pipe has no size.
            while data and len(data) != size and (data := os.read(descriptor, 1 << 20)):
                parts.append(data)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:  # ValueError: a path that can't be, with a NUL in it
        return Trouble(path, 0, f"{_UNREADABLE}{getattr(error, 'strerror', None) or error}")
    return b"".join(parts)


_BINARY = getattr(os, "O_BINARY", 0)
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)


def _is_given(path: str, mode: int) -> bool:
    """Whether it is what a shell gives in the place of a file: `<(cat a.py)`, `/dev/stdin`."""
    return stat.S_ISFIFO(mode) and path.startswith(("/dev/", "/proc/"))


def from_bytes(path: str, data: bytes) -> Source | Trouble:
    """As `read`, of a file whose bytes are at hand (standard input). `path` may be any name."""
    if path.endswith(".ipynb"):
        from gradledger.static.source.notebooks import NotANotebook, joined

        try:
            return Source(path, *joined(data))
        except NotANotebook as error:
            return Trouble(path, error.line, error.message)
    try:
        return Source(path, decode(data))
    except Undecodable as error:
        return Trouble(path, error.line, error.message)


def parse(source: Source) -> ast.Module | Trouble:
    """The source's tree. It is made once; warnings about the code are none of ours."""
    if source._parsed is None:
        from gradledger.static.source.parsing import NotPython, tree

        try:
            source._parsed = tree(source.text, source.path)
        except NotPython as error:
            source._parsed = Trouble(source.path, error.line, error.message)
    return source._parsed
