"""Assignments: `=`, `+=`, `del`."""

from __future__ import annotations

from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    NONE,
    PLAIN,
    UNKNOWN,
    Constant,
    Count,
    FunctionDef,
    Gradients,
    Items,
    Known,
    Parameters,
    Thing,
    is_plain,
    kept_in,
)
from gradledger.static.domain.weights import operator_of, terms_of
from gradledger.static.ir.effects import Edits, Reads, Renews
from gradledger.static.lower.attributes import LABELLED, named_by
from gradledger.static.lower.manual_updates import ByHand
from gradledger.static.lower.spelling import called_name
from gradledger.static.lower.windows import is_remainder
from gradledger.static.models import facts, graphless
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern, literal

_NAMED = {ast.Name, ast.Attribute, ast.Subscript}
"""What a state is called by."""


class Assignments(ByHand):
    """The statements themselves."""

    def assignment(self, node: ast.Assign) -> None:
        """`a = b = value`."""
        match node.targets:
            case [ast.Tuple(elts=names) | ast.List(elts=names)]:
                self.unpacked = node.value, len(names)
        handed_on = self._hands_on(node)
        value = self.eval(node.value)
        if handed_on is not None:
            value = self._with_graph(value, handed_on)
        if len(node.targets) == 1 and self.loops:
            value = self._growing(node.targets[0], node.value, value)
        for target in node.targets:
            self._assign_statement(target, value, node)
            if isinstance(target, ast.Name):
                self._note(target.id, value, node.value)
            elif isinstance(target, ast.Subscript) and is_plain(value):
                self._cut_item(target, node.value)

    def _hands_on(self, node: ast.Assign) -> ast.Call | None:
        """`state = step(net, state)`, of what the round before has left: the call."""
        if not self.loops or not isinstance(node.value, ast.Call) or len(node.targets) > 1:
            return None
        target = node.targets[0]
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        kinds = set(map(type, parts)) & _NAMED
        given = {self.spelled(each) for each in node.value.args if type(each) in kinds}
        for part in parts:
            if given and type(part) in kinds and self.spelled(part) in given:
                key = self.key_of(part)
                if key and key not in self.loops[-1].assigned:
                    return node.value
        return None

    def _with_graph(self, made: Known, call: ast.Call) -> Known:
        """What a function of the project made of a state, with its graph if that is in sight."""
        function = self.eval_quietly(call.func)
        if not isinstance(function, FunctionDef):
            return made
        arguments = self.arguments(call)
        return self.handed_on(
            function, made, lambda: self._followed(function, arguments, call, root=False)
        )

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
        if isinstance(target, ast.Attribute) and target.attr in facts.GRADIENT:
            self._set_gradient(target, value, node)
            return
        match target:
            case ast.Attribute(attr="data", value=ast.Attribute(attr="grad" | "_grad") as gradient):
                self._set_gradient(gradient, value, node)
                return
            case ast.Subscript(value=whole) if isinstance(held := self.eval(whole), Gradients):
                self._write_into(held, target, value, node)
                return
        if isinstance(target, ast.Tuple):
            for part in target.elts:
                if isinstance(part, ast.Attribute) and part.attr in facts.GRADIENT:
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
        if isinstance(target, ast.Attribute) and target.attr == "require_backward_grad_sync":
            self._hold_back(node)
        if isinstance(value, Thing) and _finds_places(target, node):
            value = Items((value, PLAIN))
        self.assign(target, value)
        if self.loops and isinstance(value, Thing):
            self._renew_optimizers(target)

    def _hold_back(self, node: ast.stmt) -> None:
        """A net is told when its ranks average. Where that is never, no forward from here does."""
        from gradledger.static.lower.no_sync import never_averages

        around = self.scope.node or self.scope.module.tree
        if isinstance(node, ast.Assign) and never_averages(around, node):
            self.local = True

    def set_by_name(self, node: ast.Call, value: ast.expr) -> Known:
        """`setattr(parameter, "grad", value)`: the same as to assign it."""
        owner, name = node.args[:2]
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

    def _growing(self, target: ast.expr, node: ast.expr, value: Known) -> Known:
        """`mean = 0.9 * mean + 0.1 * loss`: what is made of itself holds all graphs so far."""
        if isinstance(node, ast.Tuple) and isinstance(value, Items):
            parts = target.elts if isinstance(target, ast.Tuple) else [target] * len(node.elts)
            if len(parts) == len(node.elts) == len(value.values):
                each = map(self._growing, parts, node.elts, value.values)
                return replace(value, values=tuple(each))
        elif isinstance(node, ast.IfExp):
            for way in (node.body, node.orelse):
                value = self._growing(target, way, value)
        elif isinstance(target, ast.Name) and isinstance(node, ast.BinOp):
            losses = (self.lookup(name) for name in self._added_to(target.id, node))
            for loss in losses:
                if isinstance(loss, Thing) and loss.sure and not loss.plain:
                    return self._summed(value, loss, target, target)
        return value

    def _added_to(self, name: str, node: ast.BinOp) -> list[str]:
        """The losses that a sum has in it besides itself, if it has itself in it."""
        terms = list(terms_of(node))
        if name not in terms or name in self.backwarded():
            return []
        return [term for term in terms if term in self.backwarded()]

    def augmented(self, node: ast.AugAssign) -> None:
        """`a += b`."""
        if isinstance(node.target, ast.Attribute) and node.target.attr in facts.GRADIENT:
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
        shown = isinstance(value, Thing) and (value.among or self.may_be_a_number(node.value))
        if isinstance(value, Thing) and operator == "+" and not shown:
            made = self._summed(made, value, node.target, node)
        self.assign(node.target, made)
        if isinstance(node.target, ast.Subscript) and isinstance(made, Thing) and made.kept:
            self._hold(node.target, made)

    def _hold(self, item: ast.Subscript, value: Thing) -> None:
        """`totals[k] += loss`: what has the item has its graph, and lets go of it as a whole."""
        holder = item.value
        while isinstance(holder, ast.Subscript):
            holder = holder.value
        held, index = self.eval(holder), self.eval(item.slice)
        match held, index:
            case Thing(plain=True), _:
                self.rebind(holder, self.computed(held, value, sure=False))
            case Thing(), _:
                self.rebind(holder, replace(held, kept=held.kept | value.kept))
            case Items(names=()), Constant(int(place)) if holder is item.value:
                values = list(held.values)
                if -len(values) <= place < len(values):
                    values[place] = value
                    self.rebind(holder, Items(tuple(values)))

    def _summed(self, made: Known, value: Thing, target: ast.expr, node: ast.AST) -> Known:
        """`total += loss`: the sum holds the graphs of all iterations."""
        if not isinstance(made, Thing) or made.plain:
            return made
        if not self.loops or not value.sure or value.plain or self.is_of_this_batch(target):
            return made
        at = self.keep_loss(value, node)
        return replace(made, kept=made.kept | {at}, sure=True)

    def may_be_a_number(self, value: ast.expr) -> bool:
        """`loss, accuracy = model(batch)`: of several outputs, only a loss surely has a graph."""
        match value:
            case ast.BinOp(left=left, right=right):
                # Times a number of items, a number stays one.
                sides = [side for side in (left, right) if not self._is_number(side)]
                return bool(sides) and all(map(self.may_be_a_number, sides))
            case ast.Subscript(value=outputs, slice=ast.Constant(value=str(name))):
                if "loss" not in name.lower() or self._needs_no_item(outputs, name):
                    return True
                # Next to the loss itself, its parts are there to be shown.
                return isinstance(outputs, ast.Name) and self._comes_with_others(outputs.id)
            case ast.Attribute(value=ast.Name(id=whole), attr=name):
                return name not in self.backwarded() and self._is_an_output(whole, name)
            case ast.Name(id=name) | ast.Subscript(ast.Name(id=name), ast.Constant(value=int())):
                pass
            case _:
                return False
        if "loss" in name.lower() or name in self.backwarded():
            return False
        known = self.lookup(name)
        return isinstance(known, Thing) and known.among

    def _is_an_output(self, whole: str, name: str) -> bool:
        """Is it a part, which nobody here has made, of what a model gave?"""
        output = self.lookup(whole)
        if not isinstance(output, Thing) or not output.sure or output.built == LABELLED:
            return False
        return f"{output.key}.{name}" not in self.store

    def _comes_with_others(self, name: str) -> bool:
        """`loss, parts = criterion(out, y)`: is it one of several things that a call gives?"""
        return any(
            isinstance(inner, ast.Name) and inner.id == name
            for assigned in ast.walk(self.scope.node or self.scope.module.tree)
            if isinstance(assigned, ast.Assign) and isinstance(assigned.value, ast.Call)
            for target in assigned.targets
            if isinstance(target, ast.Tuple)
            for inner in target.elts
        )

    def _needs_no_item(self, outputs: ast.expr, key: str) -> bool:
        """Does `outputs[…].item()` stand here of other keys, and of this one nothing like it?"""
        text = self.scope.module.text(self.scope.node or self.scope.module.tree)
        calls = Pattern(literal(ast.unparse(outputs)) + r"\[['\"](\w+)['\"]\]\.(\w+)")
        called = dict(calls.findall(text))
        return "item" in called.values() and key not in called

    def _is_number(self, value: ast.expr) -> bool:
        """`3`, `n`, `x.size(0)`, `len(y)`?"""
        if isinstance(value, ast.Call):
            return called_name(value) in facts.COUNTING
        return isinstance(value, ast.Constant) or is_plain(self.eval_quietly(value))

    def deletion(self, node: ast.Delete) -> None:
        """`del p.grad` clears; `del losses[:]` lets go."""
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr in facts.GRADIENT:
                self._set_gradient(target, NONE, node)
            elif isinstance(target, ast.Subscript):
                base = self.eval(target.value)
                self.release(kept_in(base), node)
                if isinstance(base, Items):
                    self.rebind(target.value, Items(()))
            elif isinstance(target, ast.Name):
                value = self.store.pop(self.where(target.id), None)
                if value is not None:
                    self.release(kept_in(value), node)


def _is_made_of(name: str, value: ast.expr) -> bool:
    """`f(name)`?"""
    return isinstance(value, ast.Call) and any(
        isinstance(argument, ast.Name) and argument.id == name for argument in value.args
    )


def _finds_places(target: ast.expr, node: ast.stmt) -> bool:
    """`value, index = scores.max(1)`: where the largest one stands has no graph."""
    match target, node:
        case ast.Tuple(elts=[_, _]), ast.Assign(value=ast.Call() as call):
            return called_name(call) in graphless.WITH_INDICES
    return False
