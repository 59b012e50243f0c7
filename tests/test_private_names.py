"""Every private name of another package that the source uses is in docs/torch-internals.md.

A name that gradledger itself defines somewhere is taken for its own: that another package has it,
too, is for the author of the page to know.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "gradledger"
PROGRAMS = ("rules/examples", "cli/programs")
"""Programs that ship with the package, and are not a part of it."""
READS_OBJECTS = ("engine", "integrations", "runtime")
"""Where a string can be the name of an attribute. Elsewhere, it is one in a user's source."""
BOTH = {
    *("_base", "_buffers", "_fork_exec", "_functions", "_handle", "_modules", "_version"),
    *("_optimizer_step_code", "_parameters", "_post_accumulate_grad_hooks", "_run_ddp_forward"),
}
"""Names that we define, and others have, too: ours where they are those of `self` or `cls`."""
PUBLIC = {"_asdict", "_exit", "_field_defaults", "_fields", "_make", "_replace"}
"""What Python documents in spite of the underscore: namedtuple's methods, os._exit."""
_PRIVATE = re.compile(r"_[A-Za-z]\w*")
_ROW = re.compile(r"^\| (`.*?) \| (`.*?) \| (.+?) \|$", re.M)
_CODE = re.compile(r"`([^`]+)`")


def _sources() -> dict[str, str]:
    paths = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    return {
        name: path.read_text("utf-8")
        for name, path in sorted(paths.items())
        if not name.startswith(PROGRAMS)
    }


def _own(trees: list[ast.Module]) -> Iterator[str]:
    """Names that are defined here."""
    for node in (node for tree in trees for node in ast.walk(tree)):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def _used(tree: ast.Module, own: set[str], *, strings: bool) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names, level=0):
                if not module.startswith("gradledger"):
                    yield from (part for part in module.split(".") if _PRIVATE.fullmatch(part))
                    yield from (each.name for each in names if _PRIVATE.fullmatch(each.name))
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(attr=name) if _PRIVATE.fullmatch(name) and name not in own:
                yield name
            case ast.Constant(value=str(text)) if strings:
                if _PRIVATE.fullmatch(text) and text not in own:
                    yield text
                elif re.fullmatch(r"torch(\.\w+)+", text):
                    yield from (part for part in text.split(".") if _PRIVATE.fullmatch(part))


def _found() -> dict[str, set[str]]:
    """Each private name, and the files that use it."""
    sources = _sources()
    trees = {name: ast.parse(text) for name, text in sources.items()}
    own = set(_own(list(trees.values()))) - BOTH
    found: dict[str, set[str]] = {}
    for file, tree in trees.items():
        for name in _used(tree, own, strings=file.startswith(READS_OBJECTS)):
            if name not in PUBLIC and not name.startswith("_gradledger"):
                found.setdefault(name, set()).add(file)
    return found


class Row(NamedTuple):
    """One of the page: names that are used together, and what happens without them."""

    names: frozenset[str]
    files: frozenset[str]


def _rows() -> list[Row]:
    page = (ROOT / "docs" / "torch-internals.md").read_text("utf-8")
    return [
        Row(
            frozenset(name.rpartition(".")[2] for name in _CODE.findall(names)),
            frozenset(_CODE.findall(files)),
        )
        for names, files, _ in _ROW.findall(page)
    ]


def test_every_private_name_that_is_used_is_listed_with_every_file_that_uses_it() -> None:
    found, rows = _found(), _rows()
    assert len(found) > 50
    places = {name: set(row.files) for row in rows for name in row.names}
    missing = {name: files - places.get(name, set()) for name, files in found.items()}
    assert {name: files for name, files in missing.items() if files} == {}


def test_what_is_listed_is_used() -> None:
    sources = _sources()
    for row in _rows():
        texts = [sources[file] for file in row.files]
        assert [name for name in row.names if not any(name in text for text in texts)] == []
        assert all(any(name in text for name in row.names) for text in texts), row.files


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("from torch._utils import _flat", {"_utils", "_flat"}),
        ("torch._C._thing()", {"_C", "_thing"}),
        ("getattr(p, '_hooks')", {"_hooks"}),
        ("sys.modules.get('torch._dynamo.rules')", {"_dynamo"}),
        ("self._mine, x.__name__, '_', 'a _b'", set()),
    ],
)
def test_a_private_name_is_seen_however_it_is_used(code: str, names: set[str]) -> None:
    assert set(_used(ast.parse(code), {"_mine"}, strings=True)) == names
