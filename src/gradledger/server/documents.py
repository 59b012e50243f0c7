"""What an editor has open, as the files that the checker knows."""

from __future__ import annotations

import os
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from pygls.uris import to_fs_path

from gradledger.static.source.files import encoded


class Document(NamedTuple):
    """One file, or all cells of one notebook, with the text that the editor shows."""

    uri: str
    path: str
    """Absolute, whether there is such a file or not."""
    data: bytes
    """What would be in the file if it were saved now."""
    version: int | None = None
    cells: tuple[str, ...] = ()
    """The address of each cell of a notebook, code or not, in their order."""


def path_of(uri: str) -> str:
    """The path of a file; of text that was never saved, the name that the editor gave it."""
    return os.path.abspath(to_fs_path(uri) or unquote(urlsplit(uri).path) or "untitled")


def bytes_of(text: str) -> bytes:
    """The text as its file would hold it: in the encoding that it declares, else in UTF-8."""
    text = text.removeprefix("\ufeff")  # which some editors show, and no file has twice
    plain = text.encode("utf-8", "replace")
    try:
        return encoded(text, like=plain)
    except (LookupError, ValueError):  # the check says what is wrong with that
        return plain
