"""Assignments: names get values, gradients are set, parameters updated by hand."""

from __future__ import annotations

import ast
import re
from itertools import islice

from gradledger.ledger.events import Keep
from gradledger.ledger.values import replace
from gradledger.static.lowering import facts
from gradledger.static.lowering.conditions import Conditions, called_name
from gradledger.static.lowering.effects import (
    Clears,
    Edits,
    Reads,
    Renews,
    Replaces,
)
from gradledger.static.lowering.expressions import LABELLED, named_by
from gradledger.static.lowering.facts import OF_ONE_COPY, has_parameters
from gradledger.static.lowering.roles import backwarded
from gradledger.static.lowering.values import (
    NO_KEYS,
    NONE,
    PLAIN,
    UNKNOWN,
    Constant,
    Count,
    Gradients,
    Items,
    Known,
    Optimizer,
    Parameters,
    Thing,
    is_plain,
    kept_in,
)
from gradledger.static.lowering.weights import MEAN, operator_of
from gradledger.static.lowering.windows import is_remainder
from gradledger.static.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

COUNTS = Pattern(r"(?:\b|_)(?:ids?|id[xs]|ind(?:ex(?:es)?|ices)|masks?|len(?:s|gths?)?)(?:_|\b)")
"""Names of whole numbers, one of several things that a call gives: these have no gradients."""
OF_MODELS = frozenset({"parameters", "named_parameters", "zero_grad"})


class Assignments(Conditions):
    """`=`, `+=`, `del`."""

    def assignment(self, node: ast.Assign) -> None:
        """`a = b = value`."""
        if (added := self._added_to_itself(node)) is not None:
            self.augmented(added)
            return
        value = self.eval(node.value)
        for target in node.targets:
            self._assign_statement(target, value, node)
            if isinstance(target, ast.Name):
                self._note(target.id, value, node.value)
            elif isinstance(target, ast.Subscript) and is_plain(value):
                self._cut_item(target, node.value)

    def _note(self, name: str, value: Known, node: ast.expr) -> None:
        """What a name tells from now on: a rest, a flag, a loss of which nobody knows the graph."""
        full = self.full_name(name)
        if is_remainder(node):
            self.remainders.add(full)
        if self.loops and isinstance(value, Constant) and isinstance(value.value, bool):
            self.flags[full] = len(self.loops)
        now = self.store.get(full)
        if isinstance(now, Thing) and _is_made_of(name, node):
            self.store[full] = replace(now, sure=isinstance(value, Thing) and value.sure)

    def _cut_item(self, target: ast.Subscript, value: ast.expr) -> None:
        """`state[key] = state[key].detach()`: in a loop, each in its turn."""
        each = self.loops and not isinstance(self.eval(target.slice), Constant)
        if each and "detach" in ast.unparse(value):
            self.cut(target)

    def annotated(self, node: ast.AnnAssign) -> None:
        """`a: int = value`."""
        if node.value is not None:
            self._assign_statement(node.target, self.eval(node.value), node)

    def _assign_statement(self, target: ast.expr, value: Known, node: ast.stmt) -> None:
        if isinstance(target, ast.Attribute) and target.attr == "grad":
            self._set_gradient(target, value, node)
            return
        if isinstance(target, ast.Tuple):
            for part in target.elts:
                if isinstance(part, ast.Attribute) and part.attr == "grad":
                    self._set_gradient(part, UNKNOWN, node)
        if isinstance(value, Gradients):
            self.emit(Reads(self.at(node), *named_by(value.of)))
        if self._is_update_by_hand(target, node):
            return
        if isinstance(target, ast.Attribute) and target.attr == "requires_grad":
            owner = self.eval(target.value)
            if isinstance(owner, Parameters):
                self.freeze(owner.keys, value)
            elif isinstance(owner, Thing) and owner.key:
                self._set_requires_grad(owner, target.value, value)
            return
        if isinstance(value, Thing) and _finds_places(target, node):
            value = Items((value, PLAIN))
        self.assign(target, value)
        if self.loops and isinstance(value, Thing):
            self._renew_optimizers(target)

    def set_by_name(self, node: ast.Call) -> Known:
        """`setattr(parameter, "grad", value)`: the same as to assign it."""
        owner, name, value = node.args
        given = self.eval(value)
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            target = ast.Attribute(owner, name.value, ast.Store())
            ast.copy_location(target, node)
            statement = ast.copy_location(ast.Assign([target], value), node)
            self._assign_statement(target, given, statement)
        return PLAIN

    def _renew_optimizers(self, target: ast.expr) -> None:
        """One that is made out of sight, or several: others in each round."""
        shown = ast.unparse(target)
        if self.uses().role(shown) == "optimizer":
            for name in (shown, f"{shown}[*]"):
                self.emit(Renews(self.at(target), optimizer=name))

    def _set_requires_grad(self, owner: Thing, target: ast.expr, value: Known) -> None:
        if value == Constant.of(True):
            self.rebind(target, replace(owner, plain=False, leaf=True))
        self.freeze(frozenset({owner.key}), value)

    def _set_gradient(self, target: ast.Attribute, value: Known, node: ast.stmt) -> None:
        owner = self.eval(target.value)
        if not isinstance(owner, Parameters):
            key = owner.key if isinstance(owner, Thing) else ""
            owner = Parameters(frozenset({key} if key else ()), leaf=True)
        keys, optimizer, leaf = named_by(owner)
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
            if isinstance(node, ast.Assign) and self.reads_gradient(node.value):
                self.doubted |= OF_ONE_COPY
            self.emit(Edits(self.at(node), keys, optimizer, leaf, "assign"))

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
            and inner.attr == "grad"
            and ast.dump(inner.value) == wanted
            for inner in ast.walk(node.value)
        )

    def assign(self, target: ast.expr, value: Known) -> None:
        """Gives names to a value."""
        match target:
            case ast.Name(id=name):
                self._assign_name(target, self.full_name(name), value, name)
            case ast.Attribute(value=base, attr=name):
                owner = self.eval(base)
                if isinstance(owner, Thing) and owner.key:
                    self._assign_name(target, f"{owner.key}.{name}", value, ast.unparse(target))
            case ast.Subscript():
                self._assign_item(target, value)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(targets, value)
            case ast.Starred(value=inner):
                self.assign(inner, value)

    def _assign_name(self, target: ast.expr, full: str, value: Known, shown: str) -> None:
        before = self.store.get(full)
        if isinstance(target, ast.Attribute) and isinstance(value, Thing):
            self._replaced(full, value, target)
            if value.built or value.cls:
                self.freeze(frozenset({full}), Constant.of(True))
        if before is not None:
            gone = kept_in(before) - kept_in(value)
            if gone and self.loops:
                self.release(gone, target)
        short = shown.rpartition(".")[2]
        if isinstance(value, Thing) and value.plain and self.uses().of(short) & OF_MODELS:
            value = UNKNOWN  # no data, though it is made of nothing but data
        known = isinstance(value, Thing) and bool(value.reach or value.maybe)
        if known and short in self.backwarded():
            value = replace(value, sure=True)
        self.bind(full, value, target, shown)

    def _another_is_made(self, target: ast.expr) -> bool:
        """Does the file hand its parameters over a second time, those that there are then?"""
        owners = "|".join(
            re.escape(name) for name in ast.unparse(target).split(".")[:-1] if name != "self"
        )
        asked = id(self.scope.module), owners
        known = self.known.handed_again.get(asked)
        if known is None:
            handed = re.compile(rf"\b(?:{owners})\b[\w.]*\.parameters\(")
            lines = filter(handed.search, self.scope.module.handing_over)
            known = self.known.handed_again[asked] = len(list(islice(lines, 2))) > 1
        return known

    def _replaced(self, full: str, value: Thing, target: ast.expr) -> None:
        """`model.head = nn.Linear(…)` after an optimizer got the old head's parameters."""
        if not has_parameters(value.built) or self.store.get(full) == NONE:
            return
        if self._another_is_made(target):
            return
        for optimizer in self.optimizers.values():
            if optimizer.made_at.via not in (None, self.scope.via) and "." not in optimizer.name:
                continue  # it was another function's own, and is gone
            if any(full.startswith(key + ".") for key in optimizer.keys or ()):
                self.emit(Replaces(self.at(target), frozenset({full})))
                return

    def backwarded(self) -> set[str]:
        """Names on which this function calls backward."""
        scope = self.scope
        key = id(scope.module if scope.node is None else scope.node)
        known = self.known.backwarded.get(key)
        if known is None:
            module = scope.module
            text = module.source if scope.node is None else module.text(scope.node)
            known = self.known.backwarded[key] = backwarded(text)
        return known

    def rebind(self, target: ast.expr, value: Known) -> None:
        """Changes what a name stands for, without a new value being assigned."""
        match target:
            case ast.Name(id=name):
                self.store[self._where(name)] = value
            case ast.Attribute(value=base, attr=name):
                owner = self.eval(base)
                if isinstance(owner, Thing) and owner.key:
                    self.store[f"{owner.key}.{name}"] = value

    def _where(self, name: str) -> str:
        scope = self.scope
        while scope.id + name not in self.store and scope.parent is not None:
            scope = self.scopes[scope.parent]
        found = scope.id + name
        return found if found in self.store else self.full_name(name)

    def _assign_item(self, target: ast.Subscript, value: Known) -> None:
        base, index = self.eval(target.value), self.eval(target.slice)
        if isinstance(base, Thing) and base.key:
            which = repr(index.value) if isinstance(index, Constant) else "*"
            full = f"{base.key}[{which}]"
            self._assign_name(target, full, value, ast.unparse(target))
        elif isinstance(base, Items) and isinstance(index, Constant):
            if isinstance(value, Optimizer) and not value.name:
                value = self._register(replace(value, name=ast.unparse(target)))
            pairs = dict(zip(base.names, base.values, strict=False)) if base.names else {}
            if base.names or not base.values:
                pairs[index.value] = value
                self.rebind(target.value, Items(tuple(pairs.values()), tuple(pairs)))
        elif isinstance(base, Items):
            self.rebind(target.value, UNKNOWN)

    def _unpack(self, targets: list[ast.expr], value: Known) -> None:
        if isinstance(value, Items) and len(value.values) == len(targets):
            for target, item in zip(targets, value.values, strict=True):
                self.assign(target, item)
            return
        for place, target in enumerate(targets):
            part = value
            if isinstance(value, Items):
                part = PLAIN if is_plain(value) else UNKNOWN
            elif isinstance(value, Thing):
                part = value if value.plain else replace(value, key="", leaf=False)
                if value.built == LABELLED and not place:
                    part = replace(part, weight=MEAN)
                if COUNTS.search(ast.unparse(target)):
                    part = replace(part, reach=NO_KEYS, maybe=part.maybe | part.reach)
            elif isinstance(value, Count):
                part = PLAIN
            self.assign(target, part)

    def _added_to_itself(self, node: ast.Assign) -> ast.AugAssign | None:
        """`total = total + loss`, of a loss that was differentiated: the same as with `+=`."""
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name) as target],
                value=ast.BinOp(ast.Name(id=same), ast.Add(), ast.Name(id=loss) as added),
            ) if name == same and loss in self.backwarded():
                plus = ast.AugAssign(target, ast.Add(), added)
                return ast.copy_location(plus, node)
        return None

    def augmented(self, node: ast.AugAssign) -> None:
        """`a += b`."""
        if isinstance(node.target, ast.Attribute) and node.target.attr == "grad":
            self._edit_gradient(node)
            return
        if self._is_update_by_hand(node.target, node):
            return
        before, value = self.eval(node.target), self.used(node.value)
        if isinstance(before, Gradients):
            self.emit(Edits(self.at(node), *named_by(before.of), "change"))
            return
        if isinstance(before, Thing) and before.leaf and not self.grad_enabled:
            return  # changed in place: still the tensor that has the gradient
        operator = operator_of(node)
        if isinstance(before, Count) and isinstance(value, Constant):
            step = value.value if isinstance(value.value, int) and operator == "+" else None
            if isinstance(node.op, ast.Sub):
                step = None
            after: Known = Count("") if step is None else Count(before.loop, before.plus + step)
            self.assign(node.target, after if before.loop else Count(""))
            return
        if isinstance(before, Items) and isinstance(value, Items):
            self.rebind(node.target, Items((*before.values, *value.values)[:8]))
            return
        if isinstance(before, Parameters) and isinstance(value, Parameters):
            self.rebind(node.target, Parameters(before.keys | value.keys))
            return
        if isinstance(before, Constant) and isinstance(value, Constant):
            self.assign(node.target, PLAIN)
            return
        made = self.combined(before, value, operator, node)
        if isinstance(made, Thing) and not made.plain and isinstance(value, Thing):
            made = self._summed(made, before, value, node)
        self.assign(node.target, made)

    def _summed(self, made: Thing, before: Known, value: Thing, node: ast.AugAssign) -> Thing:
        """`total += loss`: the sum holds the graphs of all iterations."""
        if not self.loops or not value.sure or value.plain or operator_of(node) != "+":
            return made
        if self._may_be_a_number(node.value):
            return made
        if self.is_of_this_batch(node.target):
            return made
        at = self.at(node)
        self.emit(Keep(at, "loss"))
        return replace(made, kept=made.kept | {at}, sure=True)

    def _may_be_a_number(self, value: ast.expr) -> bool:
        """`loss, accuracy = model(batch)`: of several outputs, only a loss surely has a graph."""
        match value:
            case ast.Name(id=name) | ast.Subscript(ast.Name(id=name), ast.Constant(value=int())):
                pass
            case ast.Subscript(slice=ast.Constant(value=str(name))):
                return "loss" not in ast.unparse(value).lower()
            case _:
                return False
        if "loss" in name.lower() or name in self.backwarded():
            return False
        return any(
            isinstance(inner, ast.Name) and inner.id == name
            for assigned in ast.walk(self.scope.node or self.scope.module.tree)
            if isinstance(assigned, ast.Assign) and isinstance(assigned.value, ast.Call)
            for target in assigned.targets
            if isinstance(target, ast.Tuple)
            for inner in target.elts
        )

    def _edit_gradient(self, node: ast.AugAssign) -> None:
        assert isinstance(node.target, ast.Attribute)
        owner = self.eval(node.target.value)
        value = self.eval(node.value)
        if not isinstance(owner, Parameters):
            key = owner.key if isinstance(owner, Thing) else ""
            owner = Parameters(frozenset({key} if key else ()), leaf=True)
        factor = None
        if isinstance(value, Constant) and isinstance(value.value, int | float) and value.value:
            factor = {"*": value.value, "/": 1 / value.value}.get(operator_of(node))
        scaled = operator_of(node) in ("*", "/")
        kind: Literal["scale", "change"] = "scale" if scaled else "change"
        self.emit(Edits(self.at(node), *named_by(owner), kind, factor))

    def deletion(self, node: ast.Delete) -> None:
        """`del p.grad` clears; `del losses[:]` lets go."""
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr == "grad":
                self._set_gradient(target, NONE, node)
            elif isinstance(target, ast.Subscript):
                base = self.eval(target.value)
                self.release(kept_in(base), node)
                if isinstance(base, Items):
                    self.rebind(target.value, Items(()))
            elif isinstance(target, ast.Name):
                value = self.store.pop(self._where(target.id), None)
                if value is not None:
                    self.release(kept_in(value), node)


def _is_made_of(name: str, value: ast.expr) -> bool:
    """`f(name)`?"""
    return isinstance(value, ast.Call) and any(
        isinstance(argument, ast.Name) and argument.id == name for argument in value.args
    )


def _is_zeros(node: ast.stmt) -> bool:
    value = getattr(node, "value", None)
    return isinstance(value, ast.Call) and called_name(value) in ("zeros_like", "zeros")


def _finds_places(target: ast.expr, node: ast.stmt) -> bool:
    """`value, index = scores.max(1)`: where the largest one stands has no graph."""
    match target, node:
        case ast.Tuple(elts=[_, _]), ast.Assign(value=ast.Call() as call):
            return called_name(call) in facts.WITH_INDICES
    return False
