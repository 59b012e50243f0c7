"""Layers that a module keeps in a plain list: they are called, and `parameters()` leaves them out.

Plain enough to be told only where the list is made in `__init__`, called in `forward`, and named
nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.static.domain.values import ClassDef
from gradledger.static.models.facts import has_parameters
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

OTHER_WAYS = Pattern(
    r"ModuleList|Sequential\(|ParameterList|add_module|register_|[gs]etattr|__dict__|Parameter\("
    r"|requires_grad|no_grad|inference_mode|detach|\.data\b|def (?:named_)?parameters\b|\.apply\("
)
"""Words of classes that may make parts of such layers, train them by themselves, or freeze them."""


def unlisted(cls: ClassDef) -> frozenset[str]:
    """The attributes of a module that are plain lists of layers, and that nothing else uses."""
    text = cls.module.text(cls.node)
    methods = cls.module.methods(cls.node)
    init, forward = methods.get("__init__"), methods.get("forward")
    if init is None or forward is None or "[" not in text:
        return frozenset()
    made = frozenset(_made_in(init))
    if not made or OTHER_WAYS.search(text):
        return frozenset()
    known = {id(node) for node in (*_making(init), *_calling(forward))}
    others = {
        node.attr
        for node in ast.walk(cls.module.tree)
        if isinstance(node, ast.Attribute) and id(node) not in known
    }
    others |= {
        str(node.value) for node in ast.walk(cls.module.tree) if isinstance(node, ast.Constant)
    }
    called = {node.attr for node in _calling(forward)}
    return (made & called) - others


def _made_in(init: ast.AST) -> Iterator[str]:
    """Attributes that get a list of layers, or an empty one and then a layer."""
    for node in ast.walk(init):
        match node:
            case ast.Assign([ast.Attribute(ast.Name("self"), name)], ast.ListComp(elt=layer)):
                if _is_layer(layer):
                    yield name
            case ast.Assign([ast.Attribute(ast.Name("self"), name)], ast.List(elts=[layer, *_])):
                if _is_layer(layer):
                    yield name
            case ast.Call(
                ast.Attribute(ast.Attribute(ast.Name("self"), name), "append"),
                args=[layer],
            ) if _is_layer(layer) and name in _emptied(init):
                yield name


def _emptied(init: ast.AST) -> Iterator[str]:
    for node in ast.walk(init):
        match node:
            case ast.Assign([ast.Attribute(ast.Name("self"), name)], ast.List(elts=[])):
                yield name


def _making(init: ast.AST) -> Iterator[ast.Attribute]:
    """Where such a list is made: as a target, or by `append`."""
    for node in ast.walk(init):
        match node:
            case ast.Assign(
                [ast.Attribute(ast.Name("self")) as named], ast.List() | ast.ListComp()
            ):
                yield named
            case ast.Call(
                ast.Attribute(ast.Attribute(ast.Name("self")) as named, "append"),
                args=[_],
            ):
                yield named


def _calling(forward: ast.AST) -> Iterator[ast.Attribute]:
    """Where each of a list, or one by its place, is called."""
    for node in ast.walk(forward):
        match node:
            case ast.For(ast.Name(each), ast.Attribute(ast.Name("self")) as named):
                if _calls(node, each):
                    yield named
            case ast.For(
                ast.Tuple([_, ast.Name(each)]),
                ast.Call(
                    ast.Name("enumerate"),
                    args=[ast.Attribute(ast.Name("self")) as named],
                ),
            ):
                if _calls(node, each):
                    yield named
            case ast.Call(ast.Subscript(ast.Attribute(ast.Name("self")) as named)):
                yield named


def _calls(loop: ast.For, each: str) -> bool:
    """Is that over which a loop goes called in it, and nothing else done with it?"""
    called = [
        node.func
        for node in ast.walk(loop)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == each
    ]
    named = [
        node
        for statement in loop.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and node.id == each
    ]
    return bool(called) and len(called) == len(named)


def _is_layer(node: ast.expr) -> bool:
    """`nn.Linear(…)`: one of torch's own, with parameters?"""
    if not isinstance(node, ast.Call):
        return False
    made = ast.unparse(node.func)
    start, _, name = made.rpartition(".")
    return start in ("nn", "torch.nn") and has_parameters(f"torch.nn.{name}")
