"""The sources that findings are in, each read once and only when needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.static.source.cell_places import file_and_cell, texts
from gradledger.static.source.files import Source, read
from gradledger.static.source.suppression import IgnoreComments


class Library:
    """Sources by the path of their file; those that are at hand need not be read."""

    def __init__(self, *at_hand: Source) -> None:
        self._sources: dict[str, Source | None] = {source.path: source for source in at_hand}
        self._comments: dict[str, IgnoreComments] = {}
        self._functions: dict[str, list[tuple[int, int, str]]] = {}

    def source(self, file: str) -> Source | None:
        """The source; None where it can't be read (any more)."""
        if file not in self._sources:
            found = read(file)
            self._sources[file] = found if isinstance(found, Source) else None
        return self._sources[file]

    def comments(self, file: str) -> IgnoreComments:
        """What its comments tell to ignore."""
        if file not in self._comments:
            source = self.source(file)
            self._comments[file] = IgnoreComments(source.text if source else "")
        return self._comments[file]

    def read_comments(self) -> Iterator[tuple[str, IgnoreComments]]:
        """Those that were asked for so far."""
        yield from sorted(self._comments.items())

    def line(self, place: Place) -> int:
        """The line in the source's text; of a notebook, that is the text of all its cells."""
        file, number = file_and_cell(place.path)
        source = self.source(file) if number else None
        starts = [cell.start for cell in source.cells if cell.number == number] if source else []
        return starts[0] + place.line - 1 if starts else place.line

    def place(self, file: str, line: int) -> Place:
        """The other way: a line of the source's text, as people see it."""
        from gradledger.static.source.cell_places import cell_path

        source = self.source(file)
        number, line = source.locate(line) if source else (0, line)
        return Place(cell_path(file, number), line)

    def texts(self, findings: Iterable[Finding]) -> dict[str, str]:
        """The text of every file, or cell, that the findings point at."""
        return self.texts_of({file_and_cell(p.path)[0] for f in findings for p in _places(f)})

    def texts_of(self, files: Iterable[str]) -> dict[str, str]:
        """The text of each of these files; of a notebook, of its cells."""
        sources = filter(None, map(self.source, sorted(files)))
        return {path: text for source in sources for path, text in texts(source).items()}

    def function(self, place: Place) -> str:
        """The qualified name of the function around a place; empty outside of any."""
        file, _ = file_and_cell(place.path)
        if file not in self._functions:
            source = self.source(file)
            self._functions[file] = list(_functions(source)) if source else []
        line = self.line(place)
        around = [one for one in self._functions[file] if one[0] <= line <= one[1]]
        return max(around)[2] if around else ""


def _places(finding: Finding) -> Iterator[Place]:
    for place in finding.places:
        at: Place | None = place
        while at is not None:
            yield at
            at = at.via


def _functions(source: Source) -> Iterator[tuple[int, int, str]]:
    """First line, last line and name of each function and class."""
    import ast

    from gradledger.static.source.files import parse

    tree = parse(source)
    # Not by recursion: code may be nested deeper than Python calls.
    todo: list[tuple[ast.AST, str]] = [(tree, "")] if isinstance(tree, ast.AST) else []
    while todo:
        node, within = todo.pop()
        for child in ast.iter_child_nodes(node):
            name = within
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{within}.{child.name}" if within else child.name
                yield child.lineno, child.end_lineno or child.lineno, name
            todo.append((child, name))
