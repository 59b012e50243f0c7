"""Bytes to text, as Python itself reads its files; and in plain words, why not."""

from __future__ import annotations

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
