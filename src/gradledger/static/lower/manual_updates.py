"""Gradients that are set, and parameters that are updated, by hand."""

from __future__ import annotations

from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    NONE,
    UNKNOWN,
    Constant,
    Gradients,
    Known,
    Parameters,
    Thing,
)
from gradledger.static.domain.weights import operator_of
from gradledger.static.ir.effects import Clears, Edits
from gradledger.static.ir.notes import GradientViews
from gradledger.static.lower.assign_targets import Targets
from gradledger.static.lower.attributes import named_by
from gradledger.static.lower.spelling import called_name
from gradledger.static.models.facts import GRADIENT
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


class ByHand(Targets):
    """`p.grad = …`, `p.grad /= n`, `w -= lr * w.grad`, `p.requires_grad = …`."""

    def _set_gradient(self, target: ast.Attribute, value: Known, node: ast.stmt) -> None:
        keys, optimizer, leaf = named_by(self._whose(target))
        if self.partly and isinstance(self.eval(target.value), Parameters):
            self.emit(Edits(self.at(node), keys, optimizer, leaf, "change"))
            return
        if value == NONE:
            self.emit(Clears(self.at(node), keys, optimizer, leaf))
        elif _is_zeros(node):
            self.emit(Clears(self.at(node), keys, optimizer, leaf, to_none=False))
        elif isinstance(node, ast.Assign) and self._own_grad(target.value, node):
            self.emit(Edits(self.at(node), keys, optimizer, leaf, "change"))
        else:
            whose = self._whose(target)
            if isinstance(node, ast.Assign) and self.reads_gradient(node.value):
                self.note_copied(whose, [node.value], node)
            self.note(GradientViews, self.at(node), whose.keys, whose.of)
            self.emit(Edits(self.at(node), keys, optimizer, leaf, "assign"))

    def _whose(self, gradient: ast.Attribute) -> Parameters:
        """The parameters that a `.grad` belongs to."""
        owner = self.eval(gradient.value)
        if isinstance(owner, Parameters):
            return owner
        key = owner.key if isinstance(owner, Thing) else ""
        return Parameters(frozenset({key} if key else ()), leaf=True)

    def _write_into(
        self, gradients: Gradients, target: ast.Subscript, value: Known, node: ast.stmt
    ) -> None:
        """`p.grad[:] = 0` clears; other rows, or other numbers, are a change."""
        keys, optimizer, leaf = named_by(gradients.of)
        whole = isinstance(target.slice, ast.Slice) and target.slice.lower is target.slice.upper
        if whole and not gradients.part and value in (Constant.of(0), Constant.of(0.0)):
            self.emit(Clears(self.at(node), keys, optimizer, leaf, to_none=False))
        else:
            self.emit(Edits(self.at(node), keys, optimizer, leaf, "change"))

    def _edit_gradient(self, node: ast.AugAssign) -> None:
        assert isinstance(node.target, ast.Attribute)
        owner = self._whose(node.target)
        value = self.eval(node.value)
        factor = None
        if isinstance(value, Constant) and isinstance(value.value, int | float) and value.value:
            factor = {"*": value.value, "/": 1 / value.value}.get(operator_of(node))
        scaled = operator_of(node) in ("*", "/")
        kind: Literal["scale", "change"] = "scale" if scaled else "change"
        self.emit(Edits(self.at(node), *named_by(owner), kind, factor))

    def _is_update_by_hand(self, target: ast.expr, node: ast.stmt) -> bool:
        """`w -= lr * w.grad`, `w.data = w.data - lr * w.grad`: a step without an optimizer."""
        if not isinstance(node, ast.Assign | ast.AugAssign) or not self.reads_gradient(node.value):
            return False
        if isinstance(node, ast.Assign) and isinstance(target, ast.Name):
            return False  # a new value for a name, no update of what it stood for
        base = (
            target.value
            if isinstance(target, ast.Attribute) and target.attr == "data"
            else (target)
        )
        if isinstance(base, ast.Subscript):
            base = base.value
        owner = self.eval(base) if isinstance(base, ast.Name | ast.Attribute) else UNKNOWN
        if isinstance(owner, Thing) and owner.key and (owner.leaf or self._own_grad(base, node)):
            owner = Parameters(frozenset({owner.key}), leaf=True)
        if not isinstance(owner, Parameters):
            return False
        self.spend_by_hand(node, owner)
        return True

    def _own_grad(self, base: ast.expr, node: ast.Assign | ast.AugAssign) -> bool:
        """Does the value hold the `.grad` of what is assigned?"""
        wanted = ast.dump(base).replace("Store()", "Load()")
        return any(
            isinstance(inner, ast.Attribute)
            and inner.attr in GRADIENT
            and ast.dump(inner.value) == wanted
            for inner in ast.walk(node.value)
        )

    def _set_requires_grad(self, owner: Thing, target: ast.expr, value: Known) -> None:
        if value == Constant.of(True):
            self.rebind(target, replace(owner, plain=False, leaf=True))
        self.freeze(frozenset({owner.key}), value)


def _is_zeros(node: ast.stmt) -> bool:
    value = getattr(node, "value", None)
    return isinstance(value, ast.Call) and called_name(value) in ("zeros_like", "zeros")
