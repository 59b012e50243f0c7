"""A file of the project: its tree, its text, and what its top level defines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property

from gradledger.static.source import syntax as ast
from gradledger.static.source.files import Source
from gradledger.static.source.patterns import Calls, Pattern, Words, lines_of, without_docstrings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.project.name_uses import Uses

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef | ast.expr

ATTRIBUTES = Pattern(r"self\.(\w+)\s*(?::[^=\n]+)?=(?!=)")

MAKES_OBJECTS = Pattern(r"=[ \t]*(?:(\w+)\.)?([A-Z]\w*)\(")
"""`self.trainer = Trainer(`, `trainer = training.Trainer(`: what is spelled as classes are.

From `=` on: a word before it would be tried at each of its letters, in all of the text."""

LOOKS_AT_PARAMETERS = Pattern(r"clip|numel|\bfor\b")
"""Words of lines that go through parameters, and hand them to nobody."""


class Import:
    """A name that stands for something in another file, or outside of the project."""

    __slots__ = ("level", "module", "name")

    def __init__(self, module: str, name: str = "", level: int = 0) -> None:
        self.module = module
        self.name = name
        """What of the module; empty for the module itself."""
        self.level = level
        """How many dots a relative import begins with."""

    @property
    def inside(self) -> Import:
        """The module that is imported, as something that others are imported from."""
        return Import(".".join(filter(None, (self.module, self.name))), "", self.level)


class Module:
    """A file of the project: its tree, and what its top level defines."""

    def __init__(self, source: Source, tree: ast.Module) -> None:
        self.path = source.path
        self.folder = os.path.dirname(os.path.abspath(source.path))
        self.cells = tuple(cell.start for cell in source.cells)
        """Of a notebook, the lines on which its cells begin."""
        self.tree = tree
        self.source = source.text
        self.lines = lines_of(source.text)
        self._words = Words(without_docstrings(tree, self.lines))
        self._calls: dict[ast.AST, Calls] = {}
        self._in_text: dict[str, bool] = {}
        self._sizes: dict[ast.AST, int] = {}
        self._methods: dict[ast.ClassDef, dict[str, Function]] = {}
        self.uses: Uses | None = None
        """What the file does with its names, once somebody has asked."""
        self.settings: dict[str, set[object]] | None = None
        """What it sets names to, once somebody has asked: the files of a project all ask it."""
        self.definitions: dict[str, Definition | Import] = {}
        self._attributes: dict[str, set[str]] = {}
        self.stars: list[Import] = []
        """`from module import *`."""
        for statement in _top_level(tree.body):
            self._define(statement)

    def _define(self, statement: ast.stmt) -> None:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.definitions[statement.name] = statement
            case ast.Import(names):
                for alias in names:
                    if alias.asname:
                        self.definitions[alias.asname] = Import(alias.name)
                    else:
                        top = alias.name.partition(".")[0]
                        self.definitions[top] = Import(top)
            case ast.ImportFrom(module, names, level):
                for alias in names:
                    if alias.name == "*":
                        self.stars.append(Import(module or "", "", level))
                        continue
                    name = alias.asname or alias.name
                    self.definitions[name] = Import(module or "", alias.name, level)
            case ast.Assign([ast.Name(id=name)], ast.Constant() as value):
                self.definitions[name] = value

    def attributes(self, cls: ast.ClassDef) -> set[str]:
        """The names that the code of a class assigns on `self`."""
        known = self._attributes.get(cls.name)
        if known is None:
            known = self._attributes[cls.name] = set(ATTRIBUTES.findall(self.text(cls)))
        return known

    def text(self, node: ast.AST) -> str:
        """The lines that a statement or a function stands on."""
        first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", None)
        return "\n".join(self.lines[first - 1 : last])

    def size(self, node: ast.AST) -> int:
        """How many letters stand on the lines of a statement or a function."""
        known = self._sizes.get(node)
        if known is None:
            known = self._sizes[node] = len(self.text(node))
        return known

    def says_anywhere(self, pattern: Pattern) -> bool:
        """Does a pattern of words match on any line?"""
        return self._words.match(pattern, 1, len(self.lines))

    def says(self, pattern: Pattern, node: ast.AST) -> bool:
        """Does a pattern of words match on the lines that a statement or a function stands on?"""
        return self._words.match(pattern, *_span(node))

    def says_in_text(self, pattern: str) -> bool:
        """Does a pattern match anywhere, in comments and docstrings too?"""
        known = self._in_text.get(pattern)
        if known is None:
            known = self._in_text[pattern] = Pattern(pattern).search(self.source) is not None
        return known

    def calls(self, node: ast.AST) -> Calls:
        """What is called on the lines that a function stands on, as far as names tell."""
        known = self._calls.get(node)
        if known is None:
            known = self._calls[node] = self._words.calls(*_span(node))
        return known

    @cached_property
    def made(self) -> dict[str, tuple[str, str]]:
        """Names of objects that the file makes, with their class and the module it comes from."""
        made = {}
        for match in MAKES_OBJECTS.finditer(self.source):
            line = self.source[self.source.rfind("\n", 0, match.start()) + 1 : match.start()]
            name = line.rstrip().rpartition(".")[2].strip()
            if name.isidentifier():
                made[name] = match[1] or "", match[2]
        return made

    @cached_property
    def handing_over(self) -> tuple[str, ...]:
        """The lines that hand parameters over, to an optimizer or to whoever keeps them."""
        said = (line for line in self.source.split("\n") if ".parameters(" in line)
        return tuple(line for line in said if not LOOKS_AT_PARAMETERS.search(line))

    @cached_property
    def late_attributes(self) -> dict[str, list[ast.Attribute]]:
        """By name, where the file assigns to attributes outside of `__init__`."""
        found: dict[str, list[ast.Attribute]] = {}
        todo: list[ast.AST] = [self.tree]
        for node in todo:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.setdefault(node.attr, []).append(node)
            if not isinstance(node, ast.FunctionDef) or node.name != "__init__":
                todo += ast.iter_child_nodes(node)
        return found

    def methods(self, cls: ast.ClassDef) -> dict[str, Function]:
        """The functions of a class; of two by one name the last, for others are overloads."""
        known = self._methods.get(cls)
        if known is None:
            known = self._methods[cls] = {}
            for statement in cls.body:
                if isinstance(statement, Function):
                    known[statement.name] = statement
        return known


def _span(node: ast.AST) -> tuple[int, int]:
    first = getattr(node, "lineno", 1)
    return first, getattr(node, "end_lineno", None) or first


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those inside of `if` and `try` too."""
    for statement in body:
        yield statement
        match statement:
            case ast.If(_, then, orelse):
                yield from _top_level([*then, *orelse])
            case ast.Try(inside, handlers, orelse, last):
                yield from _top_level([*inside, *orelse, *last])
                for handler in handlers:
                    yield from _top_level(handler.body)
            case ast.With(_, inside):
                yield from _top_level(inside)
