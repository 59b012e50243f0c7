"""Turns Markdown that GitHub shows into Markdown that mkdocs shows alike."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from website.layout import ROOT, page_of, relative

_LINK = re.compile(r"(?<=\])\(([^()\s]+)\)|(?<=srcset=\")([^\"]+)(?=\")|(?<=src=\")([^\"]+)(?=\")")
_ITEM = re.compile(r"[-*] |\d+\. ")
_CODE = re.compile(r"(`+[^`]*`+)")


def adapted(text: str, *, path: str, found: Callable[[str], None]) -> str:
    """A page of the repository for the site. `found` is told each file that it links to."""
    lines = _with_room_for_lists(text.splitlines())
    return "\n".join(_with_links(lines, path, found)) + "\n"


def _with_room_for_lists(lines: list[str]) -> Iterator[str]:
    """GitHub begins a list right behind a paragraph; Python's Markdown wants an empty line."""
    before, fenced = "", False
    for line in lines:
        if line.lstrip().startswith("```"):
            fenced = not fenced
        follows_text = bool(before.strip()) and not before.startswith(("  ", "|", "#"))
        if not fenced and _ITEM.match(line) and follows_text and not _ITEM.match(before):
            yield ""
        yield line
        before = line


def _with_links(lines: Iterator[str], path: str, found: Callable[[str], None]) -> Iterator[str]:
    fenced = False
    for line in lines:
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if fenced or ("](" not in line and "src" not in line):
            yield line
            continue
        pieces = _CODE.split(line)  # every second one is code, but for the text of a link
        yield (
            _LINK.sub(lambda m: _moved(m, path, found), line)
            if len(pieces) == 1
            else (_rejoined(pieces, path, found))
        )


def _rejoined(pieces: list[str], path: str, found: Callable[[str], None]) -> str:
    """Links behind code in brackets are links; what is inside of code is not."""
    hidden = {f"\0{n}\0": piece for n, piece in enumerate(pieces) if n % 2}
    line = "".join(f"\0{n}\0" if n % 2 else piece for n, piece in enumerate(pieces))
    line = _LINK.sub(lambda m: _moved(m, path, found), line)
    for mark, piece in hidden.items():
        line = line.replace(mark, piece)
    return line


def _moved(match: re.Match[str], path: str, found: Callable[[str], None]) -> str:
    target = next(group for group in match.groups() if group is not None)
    if re.match(r"[a-z]+:|#", target):
        return match[0]
    file, _, anchor = target.partition("#")
    named = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
    if not (ROOT / named).exists():
        raise SystemExit(f"{path} links to {target}, and there is no {named}")
    found(named)
    here = page_of(path)
    moved = relative(page_of(named), to=here) + (f"#{anchor}" if anchor else "")
    return f"({moved})" if match[0].startswith("(") else moved
