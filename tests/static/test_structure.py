"""How the checker's own code is built: no towers of classes, no long files, no cycles."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import gradledger.static

HOME = Path(gradledger.static.__file__).parent
PACKAGE = "gradledger.static"
FILES = sorted(HOME.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}

LONGEST_FILE = 300
LARGEST_CLASS = 20
DEEPEST_CHAIN = 2
"""A class, and what it is a kind of: `Value`, `NamedTuple`, an error."""

ROOTS = frozenset({"Value", "NamedTuple", "GradledgerError", "Event", "Effect", "object"})
"""Classes that say what a class is made like, and of which kind of thing it is."""


def _names(path: Path) -> str:
    return path.relative_to(HOME).as_posix()


def _classes() -> dict[str, ast.ClassDef]:
    return {
        node.name: node
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def _chain(name: str, classes: dict[str, ast.ClassDef]) -> int:
    if name in ROOTS or name not in classes:
        return 0
    bases = [ast.unparse(base).rpartition(".")[2] for base in classes[name].bases]
    return 1 + max((_chain(base, classes) for base in bases), default=0)


@pytest.mark.parametrize("path", FILES, ids=_names)
def test_a_file_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE


def test_no_class_does_everything() -> None:
    sizes = {
        name: sum(isinstance(member, ast.FunctionDef) for member in node.body)
        for name, node in _classes().items()
    }
    assert {name: size for name, size in sizes.items() if size > LARGEST_CLASS} == {}


def test_no_class_stands_on_a_tower() -> None:
    classes = _classes()
    deep = {name: _chain(name, classes) for name in classes}
    assert {name: depth for name, depth in deep.items() if depth > DEEPEST_CHAIN} == {}


def _imported(tree: ast.Module, module: str) -> set[str]:
    """The modules of the package that are loaded together with this one."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(PACKAGE):
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found - {module}


def test_no_module_needs_one_that_needs_it() -> None:
    modules = {
        ".".join((PACKAGE, *path.relative_to(HOME).with_suffix("").parts)): tree
        for path, tree in TREES.items()
    }
    needs = {module: _imported(tree, module) & modules.keys() for module, tree in modules.items()}
    while free := [module for module, needed in needs.items() if not needed]:
        for module in free:
            del needs[module]
        for needed in needs.values():
            needed.difference_update(free)
    assert needs == {}
