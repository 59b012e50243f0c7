"""A rule's two example programs: real training code that runs, with its lines marked.

In the bad one the faulty line ends with `# GL101: words`; in the good one every cured line ends
with `# fix: words`. Tests, pages and `gradledger rule` all read these files and no other.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from pathlib import Path

from gradledger.ledger.values import Value, replace
from gradledger.rules.rule import Rule

FOLDER = Path(__file__).with_name("examples")

FRAME = 24
"""The most lines that are shown around a mark: more than a screen would hide the point."""


class Program(Value):
    """An example program; `marks` says by line number what a marked line does."""

    name: str
    source: str
    marks: Mapping[int, str]
    causes: tuple[int, ...] = ()
    """Lines that the cure changes: the fault may come from far above the line that shows it."""

    @property
    def path(self) -> Path:
        """The file itself, to be run as it stands."""
        return FOLDER / self.name

    @property
    def purpose(self) -> str:
        """What the program trains, in the words of its docstring."""
        return ast.get_docstring(ast.parse(self.source)) or ""

    @property
    def lines(self) -> list[str]:
        """The code without its marks."""
        return [
            _without_mark(line) if number in self.marks else line
            for number, line in enumerate(self.source.splitlines(), start=1)
        ]

    def frame(self, most: int = FRAME) -> list[int]:
        """The numbers of the lines to show: the largest block round the marks that is short enough.

        Of the blocks round that one, only the first line is shown, and the causes come with their
        paragraphs, so the numbers may have gaps.
        """
        shown = set(self._block(most))
        for cause in self.causes:
            if cause not in shown:
                shown |= set(self._paragraph(cause, cause, most // 3))
        return sorted(shown)

    def _block(self, most: int) -> list[int]:
        blocks = _blocks_round(ast.parse(self.source), first=min(self.marks), last=max(self.marks))
        headers: list[int] = []
        for start, end in blocks:
            if end - start < most:
                return [*headers, *range(start, end + 1)]
            headers.append(start)
        near = self._paragraph(min(self.marks), max(self.marks), most)
        return [*(n for n in headers if n < near[0]), *near]

    def _paragraph(self, first: int, last: int, most: int) -> list[int]:
        """The lines and their neighbours, up to an empty one."""
        start, end, lines = first, last, self.lines
        while start > 1 and last - start < most * 2 // 3 and lines[start - 2].strip():
            start -= 1
        while end < len(lines) and end - start < most and lines[end].strip():
            end += 1
        return list(range(start, end + 1))


def bad(rule: Rule) -> Program:
    """The program that breaks the rule."""
    program = _read(f"{rule.code.lower()}_bad.py", label=rule.code)
    return replace(program, causes=tuple(_changed(program.lines, good(rule).lines)))


def good(rule: Rule) -> Program:
    """The same program, cured."""
    return _read(f"{rule.code.lower()}_good.py", label="fix")


def _read(name: str, label: str) -> Program:
    source = (FOLDER / name).read_text(encoding="utf-8")
    found = ((n, _MARK.search(line)) for n, line in enumerate(source.splitlines(), start=1))
    marks = {n: mark["text"] for n, mark in found if mark and mark["label"] == label}
    return Program(name, source, marks)


def _changed(old: list[str], new: list[str]) -> Iterator[int]:
    """The numbers of the lines of code that are not in the new text, imports left out."""
    for kind, start, end, *_ in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if kind in ("delete", "replace"):
            for number, line in enumerate(old[start:end], start=start + 1):
                if line.strip() and not line.startswith(("import ", "from ")):
                    yield number


_MARK = re.compile(r"\s*# (?P<label>GL\d{3}|fix): (?P<text>\S.*)$")


def _without_mark(line: str) -> str:
    return _MARK.sub("", line)


def _blocks_round(tree: ast.Module, first: int, last: int) -> list[tuple[int, int]]:
    """First and last line of each compound statement that holds all the marks, outermost first."""
    blocks = [
        (node.lineno, node.end_lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and hasattr(node, "body")
        if node.end_lineno is not None and node.lineno <= first and last <= node.end_lineno
    ]
    return sorted(blocks, key=lambda block: (block[0], -block[1]))
