"""What a check needs of `ast`: all of that takes longer to load than a small file to check.

The nodes are those of `ast`. What is asked of all the nodes of a file is written anew, to be quick;
for what is seldom asked, `ast` is loaded.
"""

from __future__ import annotations

import _ast
from _ast import *  # noqa: F403 - where `ast` has its nodes from
from itertools import chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ast import copy_location as copy_location
    from ast import dump as dump
    from ast import literal_eval as literal_eval
    from collections.abc import Iterable, Iterator
else:

    def __getattr__(name: str) -> object:
        import ast

        return getattr(ast, name)


def parse(text: str, path: str = "<unknown>") -> _ast.Module:
    """The tree of a module."""
    tree = compile(text, path, "exec", _ast.PyCF_ONLY_AST)
    assert isinstance(tree, _ast.Module)
    return tree


def walk(node: _ast.AST) -> Iterable[_ast.AST]:
    """The node and all below it, level by level."""
    if not isinstance(node, _ASKED_OFTEN):
        return _levels(node)
    # Dozens of questions are asked of each function and file. Nobody changes a tree.
    known: tuple[_ast.AST, ...] | None = node.__dict__.get(_WALKED)
    if known is None:
        known = node.__dict__[_WALKED] = tuple(_below(node))
    # Not with the node itself: that would be a cycle, which only a collection of garbage frees.
    return chain((node,), known)


def _levels(node: _ast.AST) -> Iterator[_ast.AST]:
    found = [node]
    for each in found:
        found += iter_child_nodes(each)
        yield each


def _below(node: _ast.AST) -> list[_ast.AST]:
    """All below the node, at once: that is quicker than one by one."""
    found = list(iter_child_nodes(node))
    for each in found:
        known = each.__dict__.get(_CHILDREN)
        found += iter_child_nodes(each) if known is None else known
    return found


_ASKED_OFTEN = (
    *(_ast.Module, _ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef),
    *(_ast.If, _ast.For, _ast.While, _ast.With, _ast.Try),
)
_WITHOUT_NODES = frozenset({"ctx", "id", "attr", "arg", "kind", "type_comment"})
_CHILDREN, _WALKED = "_children", "_walked"
"""What is kept on the nodes themselves, so that it goes when they do."""


def iter_child_nodes(node: _ast.AST) -> tuple[_ast.AST, ...]:
    """The nodes right below it, in the order of its fields.

    But for those that say whether a name is read or written: every name has one, and its own field
    is where that is looked up.
    """
    known: tuple[_ast.AST, ...] | None = node.__dict__.get(_CHILDREN)
    if known is None:
        known = node.__dict__[_CHILDREN] = tuple(_children(node))
    return known


def _children(node: _ast.AST) -> list[_ast.AST]:
    found: list[_ast.AST] = []
    for name in node._fields:
        if name in _WITHOUT_NODES:
            continue
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [each for each in value if isinstance(each, _ast.AST)]
        elif isinstance(value, _ast.AST):
            found.append(value)
    return found


def unparse(node: _ast.AST) -> str:
    """The source of a node, which mostly is a name with dots, or a call of one."""
    said = _spelled(node)
    if said is not None:
        return said
    from ast import unparse

    return unparse(node)


def _spelled(node: _ast.AST) -> str | None:
    """The same for names, attributes, items and calls of them; None where there is more to it."""
    if isinstance(node, _ast.Name):
        return node.id
    if isinstance(node, _ast.Constant):
        return repr(node.value) if type(node.value) in (int, bool) else None
    if isinstance(node, _ast.Attribute):
        # `1 .real` has a space.
        said = None if isinstance(node.value, _ast.Constant) else _spelled(node.value)
        return None if said is None else f"{said}.{node.attr}"
    if isinstance(node, _ast.Subscript):
        said, index = _spelled(node.value), _spelled(node.slice)
        return None if said is None or index is None else f"{said}[{index}]"
    if isinstance(node, _ast.Call) and not node.keywords:
        said, given = _spelled(node.func), [_spelled(each) for each in node.args]
        known = [each for each in given if each is not None]
        return None if said is None or len(known) < len(given) else f"{said}({', '.join(known)})"
    return None
