"""Walks through statements: assignments, branches, loops, `with` and `try`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any, Literal

from gradledger.ledger.events import Batch, EpochEnd, Fault, Keep, Schedule
from gradledger.ledger.values import replace
from gradledger.static.lowering.blocks import (
    NOTHING,
    acts,
    branch,
    conditions_in,
    does,
    holds,
    sequence,
    without,
)
from gradledger.static.lowering.conditions import Ask, Both, Condition, Conditions, counts_rounds
from gradledger.static.lowering.effects import (
    Clears,
    Deposits,
    Edits,
    Excuses,
    Reads,
    Replaces,
    Spends,
)
from gradledger.static.lowering.expressions import named_by
from gradledger.static.lowering.facts import ITERATION_WRAPPERS, has_parameters, last
from gradledger.static.lowering.joining import joined
from gradledger.static.lowering.roles import backwarded
from gradledger.static.lowering.state import LoopState
from gradledger.static.lowering.values import (
    NO_KEYS,
    NONE,
    PLAIN,
    UNKNOWN,
    Constant,
    Count,
    External,
    FunctionDef,
    Gradients,
    Items,
    Known,
    Optimizer,
    Parameters,
    Thing,
    carried_by,
    is_plain,
    kept_in,
)
from gradledger.static.lowering.weights import operator_of
from gradledger.static.program import Branch, Call, Do, Forget, Leave, Loop, Program, Tick, Try


class Statements(Conditions):
    """One method for each kind of statement."""

    def run(self, body: list[ast.stmt]) -> None:
        """Walks through the statements in order."""
        before, self.ended = self.ended, []
        for statement in body:
            self.count_statement()
            walk = _WALK.get(type(statement))
            if walk is not None:
                walk(self, statement)
            if self.out and isinstance(self.out[-1], Leave):
                last = self.out.pop()
                self._end_epochs()
                self.out.append(last)
                break
        else:
            self._end_epochs()
        self.ended = before

    def _end_epochs(self) -> None:
        """The data of a loop in this block has ended, and nobody has spent its rest since."""
        for ran_out, event in self.ended:
            self.out.append(Branch(Do(event), NOTHING, ran_out))
            self.out.append(Forget(ran_out))

    # Assignments

    def assignment(self, node: ast.Assign) -> None:
        """`a = b = value`."""
        value = self.eval(node.value)
        for target in node.targets:
            self._assign_statement(target, value, node)

    def annotated(self, node: ast.AnnAssign) -> None:
        """`a: int = value`."""
        if node.value is not None:
            self._assign_statement(node.target, self.eval(node.value), node)

    def _assign_statement(self, target: ast.expr, value: Known, node: ast.stmt) -> None:
        if isinstance(target, ast.Attribute) and target.attr == "grad":
            self._set_gradient(target, value, node)
            return
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
        self.assign(target, value)

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
        named = None
        if isinstance(owner, Parameters):
            named = named_by(owner)
        elif isinstance(owner, Thing) and owner.key and (owner.leaf or self._own_grad(base, node)):
            named = frozenset({owner.key}), "", True
        if named is None:
            return False
        self.emit(Spends(self.at(node), *named))
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
        known = isinstance(value, Thing) and bool(value.reach or value.maybe)
        if known and short in self.backwarded():
            value = replace(value, sure=True)
        self.bind(full, value, target, shown)

    def _replaced(self, full: str, value: Thing, target: ast.expr) -> None:
        """`model.head = nn.Linear(…)` after an optimizer got the old head's parameters."""
        if not has_parameters(value.built):
            return
        for optimizer in self.optimizers.values():
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
        for target in targets:
            part = value
            if isinstance(value, Items):
                part = PLAIN if is_plain(value) else UNKNOWN
            elif isinstance(value, Thing):
                part = value if value.plain else replace(value, key="", leaf=False)
            elif isinstance(value, Count):
                part = PLAIN
            self.assign(target, part)

    def augmented(self, node: ast.AugAssign) -> None:
        """`a += b`."""
        if isinstance(node.target, ast.Attribute) and node.target.attr == "grad":
            self._edit_gradient(node)
            return
        if self._is_update_by_hand(node.target, node):
            return
        before, value = self.eval(_loaded(node.target)), self.used(node.value)
        if isinstance(before, Gradients):
            self.emit(Edits(self.at(node), *named_by(before.of), "change"))
            return
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
        if isinstance(made, Thing) and isinstance(value, Thing):
            made = self._summed(made, before, value, node)
        self.assign(node.target, made)

    def _summed(self, made: Thing, before: Known, value: Thing, node: ast.AugAssign) -> Thing:
        """`total += loss`: the sum holds the graphs of all iterations."""
        if not self.loops or not value.sure or value.plain or operator_of(node) != "+":
            return made
        at = self.at(node)
        self.emit(Keep(at, "loss"))
        return replace(made, kept=made.kept | {at}, sure=True)

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

    def expression(self, node: ast.Expr) -> None:
        """A call, mostly."""
        self.eval(node.value)

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

    # Branches

    def branching(self, node: ast.If) -> None:
        """`if`."""
        asked = self.condition(node.test)
        if isinstance(asked, bool):
            self.run(node.body if asked else node.orelse)
            return
        if self.in_parameters and not self.partly:
            # What is done to some of the parameters is not done to all.
            self.partly = True
            self._choose(node, asked)
            self.partly = False
            return
        self._choose(node, asked)

    def _choose(self, node: ast.If, asked: Condition) -> None:
        guard = bool(GUARD.search(self.spelled(node.test)))
        flush = any(isinstance(i, ast.Mod) for i in ast.walk(node.test)) and (
            not counts_rounds(asked)
        )
        means_to_step = not node.orelse and not isinstance(node.body[-1], LEAVING)
        if (guard or flush) and means_to_step and STEPS.search(self.scope.module.text(node)):
            # Who looks whether a gradient is finite, or whether a window is left, means to step.
            self.run(node.body)
            return

        def body(statements: list[ast.stmt]) -> Callable[[], None]:
            def write() -> None:
                if self._gives_up(statements, guard):
                    self.excuse(node)
                self.run(statements)

            return write

        then, orelse = self.both(body(node.body), body(node.orelse))
        then, orelse = _without_strange_schedules(then, orelse)
        self.out.append(chosen(asked, then, orelse))

    def _gives_up(self, statements: list[ast.stmt], guard: bool) -> bool:
        """Does this branch drop gradients, and leave it at that?"""
        if not statements or not (guard or isinstance(statements[-1], LEAVING)):
            return False
        return any(CLEARS.search(self.scope.module.text(s)) for s in statements)

    def excuse(self, node: ast.AST) -> None:
        """Behind a guard, or where an iteration is given up, to drop gradients is on purpose."""
        for name in self.optimizers:
            self.emit(Excuses(self.at(node), optimizer=name))

    def matching(self, node: ast.Match) -> None:
        """`match`: one of the cases."""
        self.eval(node.subject)

        def rest(cases: list[ast.match_case]) -> None:
            if not cases:
                return
            then, orelse = self.both(lambda: self.run(cases[0].body), lambda: rest(cases[1:]))
            self.out.append(branch(then, orelse, None))

        rest(node.cases)

    # Exits

    def returning(self, node: ast.Return) -> None:
        """`return`."""
        value = self.eval(node.value) if node.value is not None else NONE
        self.returned(value, node)
        self.scope.returned.append(value)
        self.out.append(Leave("return"))

    def returned(self, value: Known, node: ast.Return) -> None:
        """What a framework does with what its hook returns."""

    def raising(self, node: ast.Raise) -> None:
        """`raise`."""
        self.out.append(Leave("raise"))

    def breaking(self, node: ast.Break) -> None:
        """`break`."""
        self.out.append(Leave("break"))

    def continuing(self, node: ast.Continue) -> None:
        """`continue`."""
        self.out.append(Leave("continue"))

    # Definitions

    def defining(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """`def`: a closure of what is around it."""
        value = FunctionDef(node, self.scope.module, self.scope.id)
        self.store[self.full_name(node.name)] = value

    def defining_class(self, node: ast.ClassDef) -> None:
        """`class` inside of a function; at the top level, the module knows it."""

    def importing(self, node: ast.Import | ast.ImportFrom) -> None:
        """An import inside of a function."""
        if self.scope.id:
            self.scope.module._define(node)

    # With

    def managing(self, node: ast.With | ast.AsyncWith) -> None:
        """`with`: what the managers change, is changed inside."""
        grad, local, accumulating = self.grad_enabled, self.local, self.accumulating
        maybe = self.no_sync_maybe
        after: list[Callable[[], None]] = []
        for item in node.items:
            self._enter_manager(item, after)
        self.run(node.body)
        self.grad_enabled, self.local, self.accumulating = grad, local, accumulating
        self.no_sync_maybe = maybe
        if not (self.out and isinstance(self.out[-1], Leave)):
            for leave in after:
                leave()

    def _enter_manager(self, item: ast.withitem, after: list[Callable[[], None]]) -> None:
        manager = item.context_expr
        name, call = _manager_name(manager), manager if isinstance(manager, ast.Call) else None
        if name in ("no_grad", "inference_mode"):
            self.grad_enabled = False
            return
        if name == "set_grad_enabled" and call and call.args:
            enabled = self.condition(call.args[0])
            if enabled is False:
                self.grad_enabled = False
            return
        if name in ("no_sync", "no_backward_sync") and call:
            enabled_value = next(
                (self.eval(k.value) for k in call.keywords if k.arg == "enabled"), None
            )
            if enabled_value is None or enabled_value == Constant.of(True):
                self.local = True
            else:
                self.no_sync_maybe = True
            return
        if name == "graph" and "cuda" in ast.unparse(manager):
            self.hooked = True  # what is captured is played again, out of sight
            return
        if name == "enable_grad":
            self.grad_enabled = True
            return
        if isinstance(manager, ast.IfExp) or name in ("nullcontext", "get_context", "ctx"):
            if "sync" in ast.unparse(manager):
                self.no_sync_maybe = True
            return
        if name == "scale_loss" and call and call.args:
            self._apex(call, item, after)
            return
        if name == "accumulate" and call:
            self.accumulate(call)
            return
        value = self.eval(manager)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, value if isinstance(value, Thing) else UNKNOWN)

    def accumulate(self, call: ast.Call) -> None:
        """`with accelerator.accumulate(model)`."""
        raise NotImplementedError

    def _apex(self, call: ast.Call, item: ast.withitem, after: list[Callable[[], None]]) -> None:
        """`with amp.scale_loss(loss, optimizer) as scaled`: unscaled again at its end."""
        raise NotImplementedError

    # Try

    def trying(self, node: ast.Try) -> None:
        """`try`: it may break off anywhere."""
        if not node.handlers:
            self.run(node.body)
            self.run(node.orelse)
            self.run(node.finalbody)
            return
        before = dict(self.store)

        def attempt() -> None:
            self.run(node.body)

        def recover() -> None:
            self.store = joined(self.store, before)
            if any(CLEARS.search(self.scope.module.text(h)) for h in node.handlers):
                self.excuse(node)
            self._handlers(node.handlers)

        body = self.block(attempt)
        after = self.store
        handler = self.block(recover)
        self.store = joined(after, self.store)
        fault = Fault(self.at(node.handlers[0])) if holds(body, Deposits) else None
        if acts(body) or acts(handler) or does(body) or does(handler):
            self.out.append(Try(body, handler, fault))
        self.run(node.orelse)
        self.run(node.finalbody)

    def _handlers(self, handlers: list[ast.ExceptHandler]) -> None:
        if len(handlers) == 1:
            self.run(handlers[0].body)
            return
        then, orelse = self.both(
            lambda: self.run(handlers[0].body), lambda: self._handlers(handlers[1:])
        )
        self.out.append(branch(then, orelse, None))

    # Loops

    def iterating(self, node: ast.For | ast.AsyncFor) -> None:
        """`for`."""
        self.rounds = None
        items = self.items_of(node.iter)
        rounds = self.rounds
        if isinstance(items, Parameters):
            # What is done to any one of them is done to all.
            self.assign(node.target, self._one_of(items, node))
            guarded, partly = self.guarded, self.partly
            self.partly, self.in_parameters = False, self.in_parameters + 1
            self._once(node.body)
            self.guarded, self.partly = guarded, partly
            self.in_parameters -= 1
            return
        if self._over_optimizers(node, items):
            return
        indexed = self._indexed(node.iter)
        if isinstance(indexed, Items) and indexed.values:
            items = Items(tuple(map(Constant.of, range(len(indexed.values)))))
        elif indexed is not None and STEPS_OF_ITEMS.search(self.scope.module.text(node)):
            # A collection that nobody knows: all of its optimizers are as one.
            self.assign(node.target, UNKNOWN)
            self._once(node.body)
            return
        if isinstance(items, Items) and 0 < len(items.values) <= 6 and _worth_unrolling(items):
            self._unrolled(node, items)
            return
        at_least = self._at_least(node)
        data = not _is_range(node.iter)

        def enter(loop: LoopState) -> None:
            self._bind_target(node, items, loop)

        self.loop(node, enter, data=data, at_least=at_least, rounds=rounds)
        self.run(node.orelse)

    def _indexed(self, iterable: ast.expr) -> Known | None:
        """What `range(len(x))` counts the items of."""
        match iterable:
            case ast.Call(
                func=ast.Name(id="range"), args=[ast.Call(func=ast.Name(id="len"), args=[counted])]
            ):
                return self.eval(counted)
        return None

    def _over_optimizers(self, node: ast.For | ast.AsyncFor, items: Known) -> bool:
        """A loop over a collection of optimizers that nobody knows: all of them are as one."""
        if isinstance(items, Items) and items.values:
            return False
        target = node.target.elts[-1] if isinstance(node.target, ast.Tuple) else node.target
        if not isinstance(target, ast.Name):
            return False
        uses = self.uses()
        if uses.role(target.id) not in ("optimizer", "scheduler") or not uses.steps(target.id):
            return False
        collection = node.iter
        while isinstance(collection, ast.Call):
            inner = collection.func
            if isinstance(inner, ast.Attribute) and not collection.args:
                collection = inner.value  # `optimizers.values()`
            elif collection.args:
                collection = collection.args[0]  # `enumerate(optimizers)`
            else:
                return False
        value = self.eval_quietly(collection)
        key = value.key if isinstance(value, Thing) and value.key else ast.unparse(collection)
        self.assign(node.target, UNKNOWN)
        known = self.store.get(f"{key}[*]")
        self.store[self.full_name(target.id)] = known or Thing(f"{key}[*]")
        self._once(node.body)
        return True

    def _one_of(self, parameters: Parameters, node: ast.For | ast.AsyncFor) -> Known:
        if isinstance(node.target, ast.Tuple) and len(node.target.elts) == 2:
            return Items((PLAIN, parameters))
        return parameters

    def _once(self, body: list[ast.stmt]) -> None:
        """A body that is as good as done once; its own exits end there."""
        self._write_once(self.block(lambda: self.run(body)))

    def _write_once(self, block: Program) -> None:
        """What is done once, although the text says that it is a loop: its exits end there."""
        if acts(block):
            inside = Call(block, "continue") if _leaves_loop(block) else block
            self.out.append(Call(inside, "break") if _leaves_loop(block) else block)

    def _unrolled(self, node: ast.For | ast.AsyncFor, items: Items) -> None:
        single = len(items.values) == 1 and isinstance(items.values[0], Items)
        over_parameters = single and any(
            isinstance(v, Parameters)
            for v in items.values[0].values  # type: ignore[union-attr]
        )
        partly, self.partly = self.partly, False
        self.in_parameters += over_parameters

        def rest(values: tuple[Known, ...]) -> None:
            for value in values:
                self.assign(node.target, value)
                block = self.block(lambda: self.run(node.body))
                self.out.append(Call(block, "continue") if _leaves_loop(block) else block)

        self._write_once(self.block(lambda: rest(items.values)))
        self.in_parameters -= over_parameters
        self.partly = partly

    def _at_least(self, node: ast.For | ast.AsyncFor) -> int:
        """A loop over a known or an accumulating number of rounds."""
        if _is_range(node.iter) and isinstance(node.iter, ast.Call) and node.iter.args:
            bound = node.iter.args[-1 if len(node.iter.args) < 3 else 1]
            value = self.eval(bound)
            if isinstance(value, Constant) and isinstance(value.value, int):
                return min(max(value.value, 0), 2)
            if _ACCUMULATES(ast.unparse(bound)):
                return 2
        return 2 if PIECES.search(ast.unparse(node.iter)) else 0

    def _bind_target(self, node: ast.For | ast.AsyncFor, items: Known, loop: LoopState) -> None:
        element: Known = UNKNOWN if not isinstance(items, Thing | Count) else items
        if isinstance(items, Items):
            element = UNKNOWN
        counter = _counter(node, self)
        if counter is not None:
            start, simple = counter
            count = Count(loop.id, start)
            if simple:
                self.assign(node.target, count)
                return
            assert isinstance(node.target, ast.Tuple)
            self.assign(node.target.elts[0], count)
            for target in node.target.elts[1:]:
                self.assign(target, element)
            return
        self.assign(node.target, element)

    def items_of(self, node: ast.expr) -> Known:
        """What a loop over this goes through."""
        if isinstance(node, ast.Call):
            name = _manager_name(node)
            if name in ITERATION_WRAPPERS and node.args:
                inner = [self.items_of(a) for a in node.args if not isinstance(a, ast.Constant)]
                if name == "zip" and any(isinstance(i, Parameters) for i in inner):
                    return Items((Items(tuple(inner)),))
                if name == "zip" and len(inner) > 1:
                    if all(isinstance(i, Items) for i in inner):
                        rows = zip(*(i.values for i in inner), strict=False)  # type: ignore[union-attr]
                        return Items(tuple(Items(row) for row in rows))
                    return PLAIN
                if name == "enumerate" and inner and isinstance(inner[0], Items):
                    pairs = enumerate(inner[0].values)
                    return Items(tuple(Items((Constant.of(i), v)) for i, v in pairs))
                return inner[0] if inner else PLAIN
            if name in ("range", "trange", "count"):
                values = [self.eval(argument) for argument in node.args]
                if len(values) == 1 and isinstance(values[0], Constant):
                    known = values[0].value
                    self.rounds = known if isinstance(known, int) else None
                return PLAIN
        value = self.eval(node)
        if isinstance(value, Thing) and value.shape:
            self.rounds = value.shape[0]
        match value:
            case Items():
                return Items(tuple(Constant.of(n) for n in value.names)) if value.names else value
            case Parameters():
                return value
            case Thing():
                if value.kept or (value.reach and value.sure):
                    return replace(value, key="", leaf=False)
                role = self.uses().role(value.key) if value.key else None
                if role in ("optimizer", "scaler", "scheduler", "model"):
                    return replace(value, key=f"{value.key}[*]")
                return PLAIN
            case _:
                return PLAIN

    def repeating(self, node: ast.While) -> None:
        """`while`."""
        self.eval(node.test)
        self.loop(node, lambda loop: None, data=True, at_least=0)

    def loop(
        self,
        node: ast.For | ast.AsyncFor | ast.While,
        enter: Callable[[LoopState], None],
        *,
        data: bool,
        at_least: int,
        rounds: int | None = None,
    ) -> None:
        """A loop: walked once, and again with what the first round leaves behind."""
        self._scope_count += 1
        id = f"loop {node.lineno}#{self._scope_count}"
        before, frozen = dict(self.store), self.frozen
        statements = self.statements
        body, loop = self._round(node, id, enter, {})
        again = self._left_behind(before, loop, body)
        if acts(body) and (again or self.frozen != frozen):
            self.store = joined(before, self.store) | again
            body, loop = self._round(node, id, enter, again)
        elif not acts(body):
            self.statements = statements + len(node.body)
        if acts(body):
            self._write_loop(node, body, loop, data=data, at_least=at_least, rounds=rounds)
        self.store = joined(before, self.store)
        self.frozen &= frozen

    def _round(
        self,
        node: ast.For | ast.AsyncFor | ast.While,
        id: str,
        enter: Callable[[LoopState], None],
        again: dict[str, Known],
    ) -> tuple[Program, LoopState]:
        loop = LoopState(id)
        self.loops.append(loop)
        try:

            def write() -> None:
                self._start_counters(node, loop)
                enter(loop)
                self.run(node.body)
                self._hand_on(loop, again, node)

            return self.block(write), loop
        finally:
            self.loops.pop()

    def _start_counters(self, node: ast.For | ast.AsyncFor | ast.While, loop: LoopState) -> None:
        """Names that count rounds: they start at a number, and each round adds one."""
        if not COUNTS.search(self.scope.module.text(node)):
            return
        for statement in node.body:
            for inner in (
                ast.walk(statement)
                if not isinstance(statement, ast.FunctionDef | ast.ClassDef)
                else ()
            ):
                if not isinstance(inner, ast.AugAssign) or not isinstance(inner.op, ast.Add):
                    continue
                if not (isinstance(inner.value, ast.Constant) and inner.value.value == 1):
                    continue
                if not isinstance(inner.target, ast.Name | ast.Attribute):
                    continue
                value = self.eval(_loaded(inner.target))
                if isinstance(value, Constant) and isinstance(value.value, int):
                    direct = inner is statement
                    self.rebind(inner.target, Count(loop.id if direct else "", value.value))
                elif isinstance(value, Thing) and not value.reach:
                    self.rebind(inner.target, Count(""))

    def _left_behind(
        self, before: dict[str, Known], loop: LoopState, body: Program
    ) -> dict[str, Known]:
        """Names that the next round finds changed, in a way that matters."""
        again: dict[str, Known] = {}
        deposits = holds(body, Deposits)
        for full in loop.read & loop.assigned.keys():
            old, new = before.get(full), self.store.get(full)
            if old is None or new is None or old == new:
                continue
            if isinstance(new, Count):
                # A counter of this very loop starts where it did; any other runs on.
                own = new.loop == loop.id
                again[full] = old if own else Count("") if isinstance(old, Constant) else new
            elif isinstance(new, Thing) and new.sure and not new.plain and deposits:
                if not new.kept:
                    again[full] = replace(new, carried=new.carried | {loop.assigned[full]})
                else:
                    again[full] = new
            elif isinstance(new, Items) and (carried_by(new) or kept_in(new)):
                again[full] = new
        for full in loop.assigned.keys() - loop.read:
            # Made anew in each round: what the last one put into it is let go.
            left = self.store.get(full)
            if left is not None and kept_in(left):
                again[full] = left
        return again

    def _hand_on(self, loop: LoopState, again: dict[str, Known], node: ast.AST) -> None:
        """States that go into the next round with their graph."""
        for full in again:
            new = self.store.get(full)
            if isinstance(new, Thing) and new.sure and not new.plain and not new.kept:
                at = loop.assigned.get(full)
                if (at is not None and at in new.carried) or at is not None:
                    self.emit(Keep(at, "state", walked=True))

    def _write_loop(
        self,
        node: ast.For | ast.AsyncFor | ast.While,
        body: Program,
        loop: LoopState,
        *,
        data: bool,
        at_least: int,
        rounds: int | None,
    ) -> None:
        start: list[Program] = []
        own = False
        used, sizes = conditions_in(body), set()
        for group, (starts, ends, size) in loop.windows.items():
            if not {starts, ends} & used:
                continue
            sizes.add(size)
            start.append(Tick(starts, ends, size != 2))
            if group.startswith("rounds of"):
                own = True
                self.out += [Forget(starts), Forget(ends)]
        draws = (
            data
            or len(self.loops) == 0
            or bool(loop.windows)
            or (DRAWS.search(self.scope.module.text(node)) is not None)
        )
        if draws:
            self.block_at(start, Batch(self.at(node)))
        even = rounds and all(size and rounds % size == 0 for size in sizes)
        again = data or bool(self.loops)
        ran_out = None
        if own and again and not even and not isinstance(node, ast.While):
            ran_out = f"round after round of {loop.id} until its end"
            self.ended.append((ran_out, EpochEnd(self.at(node), restarts=True)))
        self.out.append(Loop(sequence([*start, body]), at_least, loop.last, loop.first, ran_out))
        for group, (starts, ends, _) in loop.windows.items():
            if group.startswith("rounds of"):
                self.out += [Forget(starts), Forget(ends)]

    def block_at(self, start: list[Program], event: Batch) -> None:
        """Puts an event in front."""
        start.append(Do(event))


CLEARS = re.compile(r"zero_grad|\.grad\b|reset|clear")
PIECES = re.compile(r"\.(chunk|split|tensor_split)\(")
"""Who cuts a batch into pieces has two or more."""
STEPS_OF_ITEMS = re.compile(r"\]\.(?:step|zero_grad)\(")
STEPS = re.compile(r"\.step\(")
COUNTS = re.compile(r"\+=\s*1\b")
DRAWS = re.compile(r"\bnext\(|\w*(?:batch|sample|get_data)\w*\(", re.IGNORECASE)
GUARD = re.compile(
    r"isfinite|isnan|isinf|nan\b|\binf\b|norm|overflow|skip|bad|invalid|anomal|outlier|explod|thresh|valid",
    re.IGNORECASE,
)
LEAVING = (ast.Continue, ast.Return, ast.Break, ast.Raise)


def chosen(asked: Condition, then: Program, orelse: Program) -> Program:
    """The program that asks, and goes one of two ways."""
    if isinstance(asked, bool):
        return then if asked else orelse
    if isinstance(asked, Ask):
        if not asked.positive:
            then, orelse = orelse, then
        return branch(then, orelse, asked.name)
    assert isinstance(asked, Both)
    first, rest = asked.parts[0], asked.parts[1:]
    others: Condition = rest[0] if len(rest) == 1 else Both(rest, asked.all)
    if asked.all:
        return chosen(first, chosen(others, then, orelse), orelse)
    return chosen(first, then, chosen(others, then, orelse))


def _without_strange_schedules(then: Program, orelse: Program) -> tuple[Program, Program]:
    """Where one side steps and schedules, and the other only schedules, somebody else steps."""
    stepping = [holds(then, Spends), holds(orelse, Spends)]
    if stepping[0] == stepping[1] or not holds(orelse if stepping[0] else then, Schedule):
        return then, orelse
    return (then, without(orelse, Schedule)) if stepping[0] else (without(then, Schedule), orelse)


def _loaded(target: ast.expr) -> ast.expr:
    """The target of an assignment, to be looked at."""
    return target


def _is_zeros(node: ast.stmt) -> bool:
    value = getattr(node, "value", None)
    return isinstance(value, ast.Call) and _manager_name(value) in ("zeros_like", "zeros")


def _manager_name(node: ast.expr) -> str:
    func = node.func if isinstance(node, ast.Call) else node
    if isinstance(func, ast.Call):
        return _manager_name(func)
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def _is_range(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = _manager_name(node)
    if name in ("tqdm", "enumerate", "track", "progress_bar") and node.args:
        return _is_range(node.args[0])
    return name in ("range", "trange", "count")


def _counter(node: ast.For | ast.AsyncFor, walk: Statements) -> tuple[int, bool] | None:
    """Where a loop's own counter starts, and whether it is all that the loop gives."""
    call: ast.expr = node.iter
    while isinstance(call, ast.Call) and _manager_name(call) in ("tqdm", "track", "list", "iter"):
        if not call.args:
            return None
        call = call.args[0]
    if isinstance(call, ast.Name | ast.Attribute) and isinstance(node.target, ast.Tuple):
        value = walk.eval(call)
        counted = isinstance(value, Thing) and value.built == "builtins.enumerate"
        return (0, False) if counted else None
    if not isinstance(call, ast.Call):
        return None
    name = _manager_name(call)
    if name == "enumerate" and isinstance(node.target, ast.Tuple):
        given = (
            call.args[1]
            if len(call.args) > 1
            else next((k.value for k in call.keywords if k.arg == "start"), None)
        )
        value = walk.eval(given) if given is not None else Constant.of(0)
        start = value.value if isinstance(value, Constant) else None
        return (start, False) if isinstance(start, int) else None
    if name in ("range", "trange") and isinstance(node.target, ast.Name):
        if len(call.args) > 2:
            return None
        value = walk.eval(call.args[0]) if len(call.args) == 2 else Constant.of(0)
        start = value.value if isinstance(value, Constant) else None
        return (start, True) if isinstance(start, int) else None
    return None


def _worth_unrolling(items: Items) -> bool:
    """Known optimizers, models or phases, or a few numbers."""
    return len(items.values) <= 4 or any(
        not isinstance(v, Constant) or isinstance(v.value, str) for v in items.values
    )


def _leaves_loop(program: Program) -> bool:
    """Is there a `break` or `continue` in it, of the loop around it?"""
    from gradledger.static.program import Sequence

    match program:
        case Leave(by):
            return by in ("break", "continue")
        case Sequence(parts):
            return any(map(_leaves_loop, parts))
        case Branch(then, orelse):
            return _leaves_loop(then) or _leaves_loop(orelse)
        case Try(body, handler):
            return _leaves_loop(body) or _leaves_loop(handler)
        case Call(body, "return"):
            return _leaves_loop(body)
        case _:
            return False


def _ACCUMULATES(text: str) -> bool:  # noqa: N802
    lowered = text.lower()
    return any(
        word in lowered
        for word in ("accum", "micro", "iter_size", "grad_acc", "virtual", "batch_split", "subdiv")
    )


_WALK: dict[type[ast.stmt], Callable[[Any, Any], None]] = {
    ast.Assign: Statements.assignment,
    ast.AnnAssign: Statements.annotated,
    ast.AugAssign: Statements.augmented,
    ast.Expr: Statements.expression,
    ast.Delete: Statements.deletion,
    ast.If: Statements.branching,
    ast.Match: Statements.matching,
    ast.Return: Statements.returning,
    ast.Raise: Statements.raising,
    ast.Break: Statements.breaking,
    ast.Continue: Statements.continuing,
    ast.FunctionDef: Statements.defining,
    ast.AsyncFunctionDef: Statements.defining,
    ast.ClassDef: Statements.defining_class,
    ast.Import: Statements.importing,
    ast.ImportFrom: Statements.importing,
    ast.With: Statements.managing,
    ast.AsyncWith: Statements.managing,
    ast.Try: Statements.trying,
    ast.For: Statements.iterating,
    ast.AsyncFor: Statements.iterating,
    ast.While: Statements.repeating,
}

__all__ = ["NOTHING", "NO_KEYS", "External", "Statements", "chosen", "last"]
