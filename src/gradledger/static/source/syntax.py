"""What a check needs of `ast`: all of that takes longer to load than a small file to check.

The nodes are those of `ast`. What is asked of all the nodes of a file is written anew, to be quick;
for what is seldom asked, `ast` is loaded.
"""

from __future__ import annotations

import _ast
from _ast import *  # noqa: F403 - where `ast` has its nodes from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ast import copy_location as copy_location
    from ast import dump as dump
    from ast import literal_eval as literal_eval
    from collections.abc import Iterator
else:

    def __getattr__(name: str) -> object:
        import ast

        return getattr(ast, name)


def parse(text: str, path: str = "<unknown>") -> _ast.Module:
    """The tree of a module."""
    tree = compile(text, path, "exec", _ast.PyCF_ONLY_AST)
    assert isinstance(tree, _ast.Module)
    return tree


def walk(node: _ast.AST) -> Iterator[_ast.AST]:
    """The node and all below it, level by level."""
    found = [node]
    for each in found:
        found += iter_child_nodes(each)
        yield each


def iter_child_nodes(node: _ast.AST) -> list[_ast.AST]:
    """The nodes right below it, in the order of its fields."""
    found: list[_ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [each for each in value if isinstance(each, _ast.AST)]
        elif isinstance(value, _ast.AST):
            found.append(value)
    return found


def unparse(node: _ast.AST) -> str:
    """The source of a node, which mostly is a name with dots."""
    names = []
    inner = node
    while isinstance(inner, _ast.Attribute):
        names.append(inner.attr)
        inner = inner.value
    if isinstance(inner, _ast.Name):
        return ".".join((inner.id, *reversed(names)))
    from ast import unparse

    return unparse(node)
