"""Loops: over data, over parameters, over optimizers, and the counters that close windows."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from gradledger.ledger.events import Batch, EpochEnd, Keep, Schedule
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.lowering.blocks import (
    IDLE,
    acts,
    conditions_in,
    holds,
    sequence,
)
from gradledger.static.lowering.conditions import (
    called_name,
)
from gradledger.static.lowering.dividing import dividing
from gradledger.static.lowering.effects import (
    Deposits,
)
from gradledger.static.lowering.expressions import cuts_each
from gradledger.static.lowering.facts import ITERATION_WRAPPERS
from gradledger.static.lowering.inlining import goes_on_for_ever
from gradledger.static.lowering.joining import joined
from gradledger.static.lowering.managers import Managers
from gradledger.static.lowering.rounds import is_own, size_of
from gradledger.static.lowering.rounds import ran_out as end_of
from gradledger.static.lowering.state import LoopState
from gradledger.static.lowering.values import (
    PLAIN,
    UNKNOWN,
    Constant,
    Count,
    FunctionDef,
    Items,
    Known,
    Parameters,
    Thing,
    carried_by,
    kept_in,
)
from gradledger.static.patterns import Pattern
from gradledger.static.program import Branch, Call, Do, Forget, Leave, Loop, Program, Tick, Try
from gradledger.static.project import CUTS

PIECES = frozenset(["chunk", "split", "tensor_split"])
"""Who cuts a batch into pieces has two or more."""

PASSING_ON = frozenset(["tqdm", "enumerate", "iter", "track", "progress_bar"])
"""They give what they are given, one by one, as long as there is more."""

STEPS_OF_ITEMS = Pattern(r"\]\.(?:step|zero_grad)\(")

COUNTS = Pattern(r"\+=\s*1\b")

DRAWS = Pattern(r"\bnext\(|\w*(?:batch|sample|get_data)\w*\(", re.IGNORECASE)


class Loops(Managers):
    """`for` and `while`."""

    def iterating(self, node: ast.For | ast.AsyncFor) -> None:
        """`for`."""
        self.rounds = None
        if cuts_each(node.target, *node.body):
            self.cut(node.iter)
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
        if self._over_gradients(node, items):
            self.assign(node.target, items)
            self._once(node.body)
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
        data = not (_is_range(node.iter) or _is_spelled_out(node.iter))

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

    def _over_gradients(self, node: ast.For | ast.AsyncFor, items: Known) -> bool:
        """A loop over parameters that nobody knows: what is done to one is done to all."""
        if not isinstance(items, Thing) or not isinstance(node.target, ast.Name):
            return False
        grad = rf"\b{node.target.id}\.grad\b"
        text = self.scope.module.text(node)
        return ".grad" in text and bool(re.search(grad, text))

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
        outer, self.fresh = self.fresh, self._given()
        self.in_parameters += over_parameters

        def rest(values: tuple[Known, ...]) -> None:
            for value in values:
                self.assign(node.target, value)
                block = self.block(lambda: self.run(node.body))
                self.out.append(Call(block, "continue") if _leaves_loop(block) else block)

        self._write_once(self.block(lambda: rest(items.values)))
        self.in_parameters -= over_parameters
        self.partly, self.fresh = partly, outer

    def _at_least(self, node: ast.For | ast.AsyncFor) -> int:
        """A loop over a known or an accumulating number of rounds."""
        if _is_range(node.iter) and isinstance(node.iter, ast.Call) and node.iter.args:
            bound = node.iter.args[-1 if len(node.iter.args) < 3 else 1]
            value = self.eval(bound)
            if isinstance(value, Constant) and isinstance(value.value, int):
                return min(max(value.value, 0), 2)
            if _accumulates(ast.unparse(bound)):
                return 2
        calls = [inner for inner in ast.walk(node.iter) if isinstance(inner, ast.Call)]
        return min((self._pieces(c) for c in calls if called_name(c) in PIECES), default=0)

    def _pieces(self, cut: ast.Call) -> int:
        """Into how many pieces a batch is cut: two or more, where the number is not known."""
        number = self.eval(cut.args[0]) if cut.args else UNKNOWN
        if called_name(cut) == "split" or not isinstance(number, Constant):
            return 2
        return min(max(number.value, 0), 2) if isinstance(number.value, int) else 2

    def _bind_target(self, node: ast.For | ast.AsyncFor, items: Known, loop: LoopState) -> None:
        element: Known = UNKNOWN if not isinstance(items, Thing | Count) else items
        if isinstance(items, Items):
            element = UNKNOWN
        counter = _counter(node, self)
        if counter is not None:
            start, simple = counter
            count = Count(loop.id, start)
            if simple:
                loop.length = _length(node.iter, self)
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
            name = called_name(node)
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
        nested = bool(self.loops)
        draws = data or not nested or bool(DRAWS.search(self.scope.module.text(node)))
        outer, self.fresh = self.fresh, frozenset() if draws else self._given()
        before, frozen = dict(self.store), self.frozen
        statements = self.statements
        body, loop = self._round(node, id, enter, {})
        again = self._left_behind(before, loop, body)
        if acts(body) and (again or self.frozen != frozen):
            self.store = joined(before, self.store) | again
            body, loop = self._round(node, id, enter, again)
        elif not acts(body):
            self.statements = statements + len(node.body)
        if acts(body) and body.kinds - IDLE != {Schedule}:  # alone, it is brought forward
            self.write_rounds(
                body,
                loop,
                self.at(node),
                at_least=at_least,
                rounds=rounds,
                draws=draws,
                data_ends=(data or nested) and not self._is_endless(node),
            )
            if loop.windows:
                self.rest_at = self.scope.id, len(self.loops)
        self.fresh = outer
        # Where the data was empty, there is nothing that a counter could tell.
        counts = {n: v for n, v in self.store.items() if isinstance(v, Count) and v.loop == id}
        set_back = dict.fromkeys(loop.set_back, PLAIN)
        self.store = joined(before, self.store) | counts | set_back
        self.frozen &= frozen

    def _given(self) -> frozenset[str]:
        """The names that have got a value for the data at hand."""
        if not self.loops or not self.loops[-1].of_data:
            return frozenset()
        return self.fresh | self.loops[-1].assigned.keys()

    def _is_endless(self, node: ast.For | ast.AsyncFor | ast.While) -> bool:
        """Is it left by a `break` or a `return` alone, as `for batch in cycle(loader)` is?"""
        if isinstance(node, ast.While) or _stops_behind_a_step(node) or _fails_in_time(node):
            return True
        if not self.loops and any(map(_is_enough, ast.walk(node))):
            return True
        source = node.iter
        while isinstance(source, ast.Call) and called_name(source) in PASSING_ON and source.args:
            source = source.args[0]
        value = self.eval_quietly(source)
        cls = value.cls if isinstance(value, Thing) else None
        iterate = cls and self.method(cls, "__iter__")
        if isinstance(iterate, FunctionDef):
            return goes_on_for_ever(iterate.node)
        if not isinstance(source, ast.Call):
            return False
        made = self.eval_quietly(source.func)
        if isinstance(made, FunctionDef):
            return goes_on_for_ever(made.node)
        return called_name(source) in ("cycle", "count")

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
            loop.of_data = isinstance(node, ast.For) and not _is_range(node.iter)

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
        text = self.scope.module.text(node)
        if "+=" not in text or not COUNTS.search(text):
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
                value = self.eval(inner.target)
                if isinstance(value, Constant) and isinstance(value.value, int):
                    direct = inner is statement
                    if direct and isinstance(inner.target, ast.Name) and _sets(inner.target, node):
                        loop.set_back[self.full_name(inner.target.id)] = value.value
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
            if full in loop.set_back:
                again[full] = old
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
            new, at = self.store.get(full), loop.assigned.get(full)
            if not isinstance(new, Thing) or not new.sure or new.plain or new.kept:
                continue
            # What is made anew, and not of what it was, has no graph but its own.
            if at not in new.carried or any(map(self._cuts_graphs, new.reach)):
                continue
            if not _is_set_back(full.rpartition(":")[2], node):
                self.emit(Keep(at, "state", walked=True))

    def _cuts_graphs(self, key: str) -> bool:
        """Is it a model of the project's own that may detach what it gives to its next call?"""
        model = self.store.get(key)
        cls = model.cls if isinstance(model, Thing) else None
        return cls is not None and cls.module.says(CUTS, cls.node)

    def _is_whole(self, window: str) -> bool:
        """Does the file make sure that its data fills windows of this size?"""
        module = self.scope.module
        known = self.known.dividing.get(id(module))
        if known is None:
            known = self.known.dividing[id(module)] = dividing(module.tree)
        return size_of(window) in known | self.varying

    def write_rounds(
        self,
        body: Program,
        loop: LoopState,
        at: Place,
        *,
        at_least: int = 0,
        rounds: int | None = None,
        draws: bool = True,
        data_ends: bool = True,
    ) -> None:
        """A loop around a body: counters tick, and each round may go on to other data."""
        used = conditions_in(body)
        windows = {w: c for w, c in loop.windows.items() if {c[0], c[1]} & used}
        own = [Forget(c) for w, (*both, _) in windows.items() if is_own(w) for c in both]
        start: list[Program] = [Tick(s, e, size != 2) for s, e, size in windows.values()]
        if draws or windows:
            start.append(Do(Batch(at)))
        even = rounds and all(size and rounds % size == 0 for *_, size in windows.values())
        even = even or (bool(own) and all(map(self._is_whole, filter(is_own, windows))))
        ran_out = end_of(loop.id) if own and data_ends and not even else None
        if ran_out is not None:
            self.ended.append((ran_out, EpochEnd(at, restarts=True)))
        self.out += own
        whole = sequence([*start, body])
        self.out.append(Loop(whole, at_least, loop.last, loop.first, ran_out))
        self.out += own


def _is_range(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = called_name(node)
    if name in ("tqdm", "enumerate", "track", "progress_bar") and node.args:
        return _is_range(node.args[0])
    return name in ("range", "trange", "count")


def _counter(node: ast.For | ast.AsyncFor, walk: Loops) -> tuple[int, bool] | None:
    """Where a loop's own counter starts, and whether it is all that the loop gives."""
    call: ast.expr = node.iter
    while isinstance(call, ast.Call) and called_name(call) in ("tqdm", "track", "list", "iter"):
        if not call.args:
            return None
        call = call.args[0]
    if isinstance(call, ast.Name | ast.Attribute) and isinstance(node.target, ast.Tuple):
        value = walk.eval(call)
        if not isinstance(value, Thing) or value.built != "builtins.enumerate":
            return None
        # One that was handed in goes on where the last call has left it.
        return (0, False) if value.depth >= len(walk.loops) - 1 else None
    if not isinstance(call, ast.Call):
        return None
    name = called_name(call)
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


def _sets(counter: ast.Name, loop: ast.AST) -> bool:
    """Is it set to a number in the loop: `pending = 0`?"""
    return any(
        isinstance(inner, ast.Assign)
        and isinstance(inner.value, ast.Constant)
        and any(isinstance(t, ast.Name) and t.id == counter.id for t in inner.targets)
        for inner in ast.walk(loop)
    )


def _is_enough(node: ast.AST) -> bool:
    """`if steps >= most: break`: the data is not what ends the loop."""
    match node:
        case ast.If(test=ast.Compare(ops=[ast.GtE() | ast.Gt()]), body=[*_, ast.Break()]):
            return True
    return False


def _fails_in_time(loop: ast.For | ast.AsyncFor) -> bool:
    """`if i == 5: raise …`: the data is never seen to its end."""
    return any(
        isinstance(statement, ast.If)
        and isinstance(statement.test, ast.Compare)
        and isinstance(statement.test.comparators[0], ast.Constant)
        and isinstance(statement.body[-1], ast.Raise)
        for statement in loop.body
    )


def _stops_behind_a_step(loop: ast.For | ast.AsyncFor) -> bool:
    """`if i + 1 > len(batches) - n: break` next to the step: no window is begun that has no end."""
    return any(
        isinstance(around, ast.If)
        and any(_is_enough(inner) and "len(" in ast.unparse(inner) for inner in around.body)
        and ".step(" in ast.unparse(around)
        for around in ast.walk(loop)
    )


def _is_spelled_out(iterable: ast.expr) -> bool:
    """`[a, b]`, `zip([a, b], [c, d])`: no data."""
    if isinstance(iterable, ast.Call) and called_name(iterable) in ("zip", "enumerate"):
        return all(map(_is_spelled_out, iterable.args))
    return isinstance(iterable, ast.List | ast.Tuple)


def _is_set_back(name: str, loop: ast.AST) -> bool:
    """`loss = 0` in the loop: what was walked is left behind there."""
    return any(
        isinstance(inner, ast.Assign)
        and isinstance(inner.value, ast.Constant)
        and any(ast.unparse(target) == name for target in inner.targets)
        for inner in ast.walk(loop)
    )


def _length(iterable: ast.expr, walk: Loops) -> str:
    """`n` of `range(n)`."""
    while isinstance(iterable, ast.Call) and called_name(iterable) not in ("range", "trange"):
        iterable = iterable.args[0]
    assert isinstance(iterable, ast.Call)
    return walk.spelled(iterable.args[0]) if len(iterable.args) == 1 else ""


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


def _accumulates(text: str) -> bool:
    lowered = text.lower()
    return any(
        word in lowered
        for word in ("accum", "micro", "iter_size", "grad_acc", "virtual", "batch_split", "subdiv")
    )
