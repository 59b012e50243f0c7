"""The files that belong together: what one imports from another."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from functools import cached_property

from gradledger.static.packages import starts
from gradledger.static.patterns import Pattern
from gradledger.static.reading import sources
from gradledger.static.reading.sources import Source, Trouble
from gradledger.static.words import Calls, Words, lines_of, without_docstrings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lowering.roles import Uses

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef | ast.expr


MOST_READ = 24
"""So many other files are read for one: behind large libraries there is no end."""

MATTERS = (
    b"backward(",
    b"zero_grad",
    b".step(",
    b"ptim",
    b"requires_grad",
    b".grad",
    b"cross_entropy",
    b"Loss(",
    b"detach",
    b"Meter",
)
"""Words without which a file is of no use to somebody who imports it."""


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
        self._sizes: dict[ast.AST, int] = {}
        self._methods: dict[ast.ClassDef, dict[str, Function]] = {}
        self.uses: Uses | None = None
        """What the file does with its names, once somebody has asked."""
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

    def methods(self, cls: ast.ClassDef) -> dict[str, Function]:
        """The functions of a class; of two by one name the last, for others are overloads."""
        known = self._methods.get(cls)
        if known is None:
            known = self._methods[cls] = {}
            for statement in cls.body:
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                    known[statement.name] = statement
        return known


def _span(node: ast.AST) -> tuple[int, int]:
    first = getattr(node, "lineno", 1)
    return first, getattr(node, "end_lineno", None) or first


class Project:
    """Finds other files of the project, and parses each at most once."""

    def __init__(
        self, roots: tuple[str, ...] = (), *, carrying: frozenset[str] = frozenset()
    ) -> None:
        self._carrying = carrying
        """Files through which others come to what trains, whatever they say themselves."""
        self._roots = tuple(map(os.path.abspath, roots))
        self._modules: dict[str, Module | None] = {}
        self._beside: dict[str, Module | None] = {}
        """Files that were read for what they set."""
        self._asked: set[str] = set()
        self._left = MOST_READ
        self._imported: dict[tuple[str, str, int], Module | None] = {}
        """For the file that is checked: by folder, what an import means there."""

    def module(self, source: Source) -> Module | Trouble:
        """The file as a module of the project."""
        key = os.path.abspath(source.path)
        known = self._modules.get(key)
        if known is not None:
            return known
        tree = sources.parse(source)
        if isinstance(tree, Trouble):
            return tree
        known = self._modules[key] = Module(source, tree)
        return known

    def begin(self) -> None:
        """Another file is checked: it may read so many others, and no more."""
        self._left = MOST_READ
        # Not kept for longer: each file has its own number of others that it may read, and its
        # own list of those that it asked for.
        self._imported.clear()

    def imported(self, by: Module, module: str, level: int = 0) -> Module | None:
        """The file of the project that `import module` means in another one; None for no such."""
        key = by.folder, module, level
        if key not in self._imported:
            paths = _candidates(by.folder, module, level, self._roots)
            self._imported[key] = next(filter(None, map(self._at, paths)), None)
        found = self._imported[key]
        if found is not by or level:
            return found
        # `utils/model.py` says `from model import …`: no file imports itself.
        paths = _candidates(by.folder, module, level, self._roots)
        others = (path for path in paths if path != os.path.abspath(by.path))
        return next(filter(None, map(self._at, others)), None)

    def submodule(self, of: Module, name: str) -> Module | None:
        """The module `name` of a package."""
        if os.path.basename(of.path) != "__init__.py":
            return None
        for path in _files_of(os.path.join(of.folder, name)):
            found = self._at(path)
            if found is not None:
                return found
        return None

    def settings_beside(self, module: Module, name: str) -> Iterator[Module]:
        """The files next to it that say what people set, if they speak of this name."""
        folder = os.path.dirname(os.path.abspath(module.path))
        for place in (folder, os.path.dirname(folder)):
            for stem in SETTINGS:
                beside = self._setting(os.path.join(place, f"{stem}.py"), name)
                if beside is not None:
                    yield beside

    def settings_in(self, module: Module, origin: Import, name: str) -> Iterator[Module]:
        """The file of the project that a name comes from, whatever else it says."""
        paths = _candidates(module.folder, origin.module, origin.level, self._roots)
        yield from filter(None, (self._setting(path, name) for path in paths))

    def _setting(self, path: str, name: str) -> Module | None:
        self._asked.add(path)
        data = _read(path)
        # Not `_at`: what says nothing of gradients may still say this.
        if data is None or name.encode() not in data:
            return None
        if self._beside.get(path) is None:
            self._beside[path] = self._parsed(path, data)
        return self._beside[path]

    def knows_no_gradients(self, by: Module, dotted: str) -> bool:
        """Is it a function of the project, in a file that has not a word about gradients?

        Such files are not followed, and not because nobody knows what is in them.
        """
        module, _, name = dotted.rpartition(".")
        for path in _candidates(by.folder, module, 0, self._roots) if module else ():
            data = _read(path)
            self._asked.add(path)
            if data is not None:
                said = any(word in data for word in MATTERS)
                return not said and f"def {name}(".encode() in data
        return False

    def dependencies(self) -> tuple[str, ...]:
        """Files that were asked for since this was last called, whether they were there or not."""
        asked = tuple(sorted(self._asked))
        self._asked.clear()
        return asked

    def _at(self, path: str) -> Module | None:
        self._asked.add(path)
        if path not in self._modules:
            data = _contents(path, always=path in self._carrying)
            if data is None:
                self._modules[path] = None
            elif not self._left:
                return None
            else:
                self._left -= 1
                self._modules[path] = self._parsed(path, data)
        return self._modules[path]

    def _parsed(self, path: str, data: bytes) -> Module | None:
        source = sources.from_bytes(path, data)
        if isinstance(source, Trouble):
            return None
        tree = sources.parse(source)
        return None if isinstance(tree, Trouble) else Module(source, tree)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _contents(path: str, *, always: bool) -> bytes | None:
    """The bytes of a file that can matter to somebody who imports it; None for any other."""
    data = _read(path)
    always = always or os.path.basename(path) == "__init__.py"
    matters = data is not None and (always or any(word in data for word in MATTERS))
    return data if matters else None


def _candidates(folder: str, module: str, level: int, roots: tuple[str, ...]) -> Iterator[str]:
    parts = module.split(".") if module else []
    for start in starts(folder, level, roots):
        yield from _files_of(os.path.join(start, *parts))


def _files_of(stem: str) -> tuple[str, str]:
    return stem + ".py", os.path.join(stem, "__init__.py")


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


SETTINGS = (
    "config",
    "configs",
    "cfg",
    "settings",
    "options",
    "constants",
    "params",
    "train",
    "main",
)
"""Files in which people set what the files beside them use."""

TOUCHES = Pattern(
    r"backward\(|zero_grad|\.step\(|\.grad\b|grad_norm|grad_value|unscale_|requires_grad"
    r"|[oO]ptimizer|optim\.|no_sync|scale_loss",
    words=(
        *("backward(", "zero_grad", ".step(", ".grad", "grad_norm", "grad_value", "unscale_"),
        *("requires_grad", "ptimizer", "optim.", "no_sync", "scale_loss"),
    ),
)
"""Words without which a function does nothing to gradients, nor makes anything that does."""

DETACHES = Pattern(
    r"detach|\.data\b|\.item\(|def (?:\w*_)?(?:update|add|append|push|record|accumulate)\w*\(",
    words=("detach", ".data", ".item(", "def "),
)
"""Words of small functions that hand tensors on, or keep them."""

CUTS = Pattern(r"\.detach_?\(|\.data\b", words=(".detach", ".data"))
"""Words of functions whose result may have no graph, whatever they are given."""

NO_GRADIENTS = Pattern(
    r"no_grad|inference_mode|set_grad_enabled"
    r"|\([^()\r\n]*[<>=!]=?[^()\r\n]*\)\.(?:float|sum|mean|long|int|to|type)\(",
    words=("no_grad", "inference_mode", "set_grad_enabled", ")."),
)
"""Words of functions that compute without gradients, or what has none: `(out > 0).float()`."""

CUTS_IN_PLACE = Pattern(r"\.detach_\(", words=(".detach_(",))
"""Words of functions after which what they were given may have no graph."""

SMALL = 16
"""Lines of a function that is worth a look for no other reason."""

SUPER_CALLS = Pattern(r"super\([^)]*\)\.(\w+)\(")
DEPOSITS = Pattern(
    r"(?<!def )\b(?:manual_)?backward\(|accumulate_grad_|gradient_accumulation",
    words=("backward(", "accumulate_grad_", "gradient_accumulation"),
)
"""Words without which a function makes no deposit. To define a backward is not to call one."""

OPTIMIZES = Pattern(r"ptim|parameters\(", words=("ptim", "parameters("))
"""Words of functions that have an optimizer, or might make one."""

LOOKS_AT_PARAMETERS = Pattern(r"clip|numel|\bfor\b")
"""Words of lines that go through parameters, and hand them to nobody."""

BACKWARDS = Pattern(r"(?<!def )\b(?:manual_)?backward\(", words=("backward(",))
"""Words without which code makes no deposit itself, whatever it tells frameworks to do."""

ATTRIBUTES = Pattern(r"self\.(\w+)\s*(?::[^=\n]+)?=(?!=)")

MAKES_OBJECTS = Pattern(r"=[ \t]*(?:(\w+)\.)?([A-Z]\w*)\(")
"""`self.trainer = Trainer(`, `trainer = training.Trainer(`: what is spelled as classes are.

From `=` on: a word before it would be tried at each of its letters, in all of the text."""

STEPS = Pattern(r"\.step\(", words=(".step(",))

HOOKS = Pattern(r"\.register_(full_)?(backward_)?hook\(", words=("register_",))
"""Words by which a function listens to the gradients that a later backward brings."""

SPENDS = Pattern(
    r"\.step\(|_step\("
    r"|(?<!autograd)\.grad(?:\.\w| *[-+*/])|[-+*/] *[\w.\[\]]+\.grad\b"
    r"|(?:sub|add|mul|div|lerp|copy)\w*\([^\r\n]*\.grad\b|= *[\w.\[\]]+\.grad *(?:#|$)",
    re.MULTILINE,
    words=(".step(", ".grad", "_step("),
)
"""Words without which a function spends nothing."""

DOES = Pattern(
    r"backward\(|zero_grad\(|\.step\(",
    words=("backward(", "zero_grad(", ".step("),
)
"""Words of functions that do something to gradients themselves."""
