"""Of which type a value is, where the source says so, and code that asks for it."""

from __future__ import annotations

from gradledger.static.domain.values import Constant, Items, Known, Thing
from gradledger.static.source import syntax as ast

TENSORS = frozenset({"Tensor", "FloatTensor"})
COLLECTIONS = frozenset({"list", "tuple", "set", "dict", "Sequence", "Iterable", "Mapping"})


def kind_of(value: Known) -> str:
    """`list`, `float`, `Tensor`; empty where nobody knows."""
    match value:
        case Items():
            return "dict" if value.names else value.kind
        case Constant():
            return value.kind
        case Thing(sure=True, plain=False) if value.weight.reduction in ("mean", "sum"):
            return "Tensor"
        case _:
            return ""


def asked_kind(test: ast.expr) -> tuple[ast.expr, frozenset[str]] | None:
    """Of what a test asks the type, and for which: `type(x).__name__ == "list"`."""
    match test:
        case ast.Compare(left, [ast.Is() | ast.Eq() | ast.In()], [right]):
            match left:
                case ast.Attribute(ast.Call(ast.Name("type"), [asked]), "__name__"):
                    pass
                case ast.Call(ast.Name("type"), [asked]):
                    pass
                case _:
                    return None
            kinds = right
        case ast.Call(ast.Name("isinstance"), [asked, kinds]):
            pass
        case _:
            return None
    each = kinds.elts if isinstance(kinds, ast.Tuple | ast.List | ast.Set) else [kinds]
    names = frozenset(map(_name_of, each))
    return None if "" in names else (asked, names)


def is_one_of(value: Known, names: frozenset[str]) -> bool | None:
    """Is the value of one of these types? None where nobody knows."""
    kind = kind_of(value)
    if kind == "Tensor":
        return False if names <= COLLECTIONS else None
    if kind not in ("list", "tuple", "dict"):
        return None
    if kind in names:
        return True
    return False if names <= {"list", "tuple", "dict", "set"} | TENSORS else None


def _name_of(kind: ast.expr) -> str:
    match kind:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return name
        case _:
            return ""
