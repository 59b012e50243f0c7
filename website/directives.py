"""What a page shows that is not typed into it: programs, and what commands print.

A line of a page that begins with `@` stands for something:

    @program accumulate.py          the program, as it is in website/programs
    @run python accumulate.py       the command and what it prints
    @play accumulate.py             the ledger player: what every cell holds, line by line

What commands print is kept in website/outputs and written by `python -m website.outputs`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from gradledger.static.playing.play import plays
from website.layout import OUTPUTS, PROGRAMS
from website.playground.links import try_it

_LINE = re.compile(r"^( *)@(\w+) (.+)$", re.MULTILINE)


class Directive(NamedTuple):
    """A line of a page that stands for something else."""

    kind: str
    what: str


def directives(page: str) -> Iterator[Directive]:
    """All of them, in their order."""
    for match in _LINE.finditer(page):
        yield Directive(match[2], match[3].strip())


def filled_in(page: str, *, depth: int, playground: bool) -> str:
    """The page with what its directives stand for, and links to the playground if there is one.

    `depth`: folders between it and the root.
    """

    programs = {directive.what for directive in directives(page) if directive.kind == "program"}

    def replaced(match: re.Match[str]) -> str:
        directive = Directive(match[2], match[3].strip())
        text = shown(directive)
        is_alone = directive.kind == "play" and directive.what not in programs
        if playground and (directive.kind == "program" or is_alone):
            text += f"\n\n{try_it(directive.what, depth=depth)}\n"
        return "\n".join(f"{match[1]}{line}".rstrip() for line in text.splitlines())

    return _LINE.sub(replaced, page)


def shown(directive: Directive) -> str:
    """The Markdown that a directive stands for."""
    kind, what = directive
    if kind == "program":
        return f'```python title="{what}" linenums="1"\n{source(what)}```'
    if kind == "run":
        return f"```console\n$ {what}\n{output(what)}```"
    if kind == "play":
        return player(what)
    raise SystemExit(f"a page says @{kind} {what}, and there is no directive of that name")


def player(name: str) -> str:
    """The player, with what the checker makes of a program; a script draws it."""
    (play,) = plays(name, source(name))
    data = json.dumps(play, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<ledger-player role="group" aria-label="Ledger player: {name}">'
        f'<script type="application/json">{data}</script></ledger-player>'
    )


def source(name: str) -> str:
    """The text of a program."""
    return (PROGRAMS / name).read_text(encoding="utf-8")


def output(command: str) -> str:
    """What a command printed when it was last run."""
    path = OUTPUTS / f"{slug(command)}.txt"
    if not path.exists():
        raise SystemExit(f"nothing is known of `{command}`: run `python -m website.outputs`")
    return path.read_text(encoding="utf-8")


def slug(command: str) -> str:
    """The name of the file that keeps what a command prints."""
    return re.sub(r"[^a-z0-9]+", "-", command.lower()).strip("-")
