"""Branches and exits: the ways through a function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import reduce

from gradledger.ledger.events import Schedule
from gradledger.static.domain.join import join
from gradledger.static.domain.values import NONE, Count, FunctionDef, Known, Scaler, Thing
from gradledger.static.ir.blocks import acts, branch, events_in, holds, sequence, without
from gradledger.static.ir.effects import Clears, Effect, Excuses, Spends, Unscales
from gradledger.static.ir.keys import NO_KEYS
from gradledger.static.ir.notes import ClearBehindFlag, Note, ScheduleWaits, UnscalesIfEnabled
from gradledger.static.ir.program import Leave, Program
from gradledger.static.lower.assign import Assignments
from gradledger.static.lower.condition_keys import Ask, Both, Condition, counts_rounds
from gradledger.static.lower.spelling import called_name, last_name
from gradledger.static.project.module import Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import DEPOSITS, DOES, STEPS

GUARD = Pattern(
    r"(?i)isfinite|isnan|isinf|nan\b|\binf\b|norm|overflow|skip|bad|invalid|anomal|outlier|explod|thresh|valid"
)

CLEARS = Pattern(r"zero_grad\(|\._?grad\b", words=("zero_grad(", ".grad", "._grad"))

_ASK_OF_WHICH_KIND = frozenset(
    {"isinstance", "issubclass", "hasattr", "getattr", "callable", "get"}
)

LEAVING = (ast.Continue, ast.Return, ast.Break, ast.Raise)


class Choices(Assignments):
    """Ways to go, and ways to leave."""

    def branching(self, node: ast.If) -> None:
        """`if`."""
        if self._skips_a_beginning(node):
            return
        before = len(self.out)
        self._branch(node)
        if self._asks_for_a_flag(node):
            # Flags that go from round to round are not followed.
            self._note_effects(ClearBehindFlag, self._written(Clears, before), node)

    def _branch(self, node: ast.If) -> None:
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

    def _written(self, kind: type[Effect], since: int) -> list[Effect]:
        """The effects of this kind that were written since then."""
        return [e for p in self.out[since:] for e in events_in(p) if isinstance(e, kind)]

    def _note_effects(self, kind: type[Note], effects: list[Effect], node: ast.AST) -> None:
        """Notes something on the objects of these effects, as far as each says which they are."""
        if effects and all(e.keys or e.optimizer for e in effects):
            keys = NO_KEYS.union(*(e.keys for e in effects))
            optimizers = frozenset(e.optimizer for e in effects if e.optimizer)
            self.note(kind, self.at(node), keys, optimizers)
        else:
            self.note(kind, self.at(node))

    def _asks_for_a_flag(self, node: ast.If) -> bool:
        """`if spent: zero_grad()`, where each round says anew what it leaves to the next."""
        match node.test:
            case ast.UnaryOp(ast.Not(), ast.Name(id=flag) | ast.Attribute(attr=flag)):
                pass
            case ast.Name(id=flag) | ast.Attribute(attr=flag):
                pass
            case _:
                return False
        module = self.scope.module
        return module.says(CLEARS, node) and self._times_answered(module)[flag] > 1

    def _times_answered(self, module: Module) -> Counter[str]:
        """How often a file says of each name yes, no, or whether two things are equal.

        `spent = True`, and somewhere else `spent = i % n == 0`.
        """
        known = self.known.answered.get(id(module))
        if known is None:
            known = self.known.answered[id(module)] = Counter(_answered(module.tree))
        return known

    def _skips_a_beginning(self, node: ast.If) -> bool:
        """`if done < start: continue` ahead of all else: as if these rounds were not there."""
        if node.orelse or not isinstance(node.body[-1], ast.Continue):
            return False
        if any(map(acts, self.out)) or self.scope.module.says(DOES, node):
            return False
        tests = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
        return any(isinstance(self.eval(low), Count) for low in map(_bounded_above, tests) if low)

    def _choose(self, node: ast.If, asked: Condition) -> None:
        spelled = self.spelled(node.test)
        guard = bool(GUARD.search(spelled))
        flush = not counts_rounds(asked) and (
            self._asks_for_a_rest(node.test, spelled) or self._follows_windows(node)
        )
        if self._asks_anew(asked) and not node.orelse and self._unscales_if_enabled(node):
            before = len(self.out)
            self.run(node.body)
            self._note_effects(UnscalesIfEnabled, self._written(Unscales, before), node)
            return
        goes_on = not node.orelse and not isinstance(node.body[-1], LEAVING)
        if (guard or flush) and goes_on and self._steps(node):
            # Who looks whether a gradient is finite, or whether a window is left, means to step.
            self.run(node.body)
            return

        def body(statements: list[ast.stmt]) -> Callable[[], None]:
            def write() -> None:
                if self._gives_up(statements, node.test, guard, asked):
                    self.excuse(node)
                self.run(statements)

            return write

        then, orelse = self.both(body(node.body), body(node.orelse))
        self._note_frozen(asked)
        if guard and holds(then, Spends) != holds(orelse, Spends):
            # No step behind a guard: what is dropped later on is dropped for a reason.
            excuse = self.block(lambda: self.excuse(node))
            if holds(then, Spends):
                orelse = sequence([excuse, orelse])
            else:
                then = sequence([excuse, then])
        then, orelse = _without_strange_schedules(then, orelse)
        if _asks_when(node.test) or isinstance(self.eval_quietly(node.test), Count):
            for way in (then, orelse):
                if not holds(way, Spends):
                    for event in events_in(way):
                        if isinstance(event, Schedule):
                            self.note(ScheduleWaits, event.at)
        self.out.append(chosen(asked, then, orelse))

    def _note_frozen(self, asked: Condition) -> None:
        """What one answer has frozen stays so wherever the same is asked again."""
        if counts_rounds(asked):
            self.half_frozen |= frozenset().union(*self.frozen_apart)
        elif isinstance(asked, Ask) and asked.name:
            for keys, way in zip(
                self.frozen_apart, (asked.positive, not asked.positive), strict=True
            ):
                self.frozen_if |= {(key, asked.name, way) for key in keys}

    def _asks_anew(self, asked: Condition) -> bool:
        """Has nothing so far depended on the same question?"""
        if not isinstance(asked, Ask) or not asked.name:
            return not counts_rounds(asked)
        anew = asked.name not in self.questions
        self.questions.add(asked.name)
        return anew and not counts_rounds(asked)

    def _unscales_if_enabled(self, node: ast.If) -> bool:
        """`if amp: scaler.unscale_(optimizer)`: otherwise, there is no scale."""
        for statement in node.body:
            match statement:
                case ast.Expr(ast.Call(func=ast.Attribute(value=owner, attr="unscale_"))):
                    scaler = self.eval_quietly(owner)
                    option = isinstance(scaler, Scaler) and scaler.is_option
                    return option and not self._steps(node)
        return False

    def _asks_for_a_rest(self, test: ast.expr, spelled: str) -> bool:
        """`if len(loader) % n`, a name for that, or a flag that the loop before has left."""
        if isinstance(test, ast.Name):
            deep = self.flags.get(self.full_name(test.id), 0)
            if deep > len(self.loops):
                return True
        if not self.remainders and "%" not in spelled:
            return False
        return any(
            isinstance(inner, ast.Mod)
            or (isinstance(inner, ast.Name) and self.full_name(inner.id) in self.remainders)
            for inner in ast.walk(test)
        )

    def _follows_windows(self, node: ast.If) -> bool:
        """Is it behind a loop with windows, and no training of its own? Whatever it asks for."""
        ended = self.rest_at == (self.scope.id, len(self.loops))
        return ended and not self.scope.module.says(DEPOSITS, node)

    def _steps(self, node: ast.If) -> bool:
        """Does it make a step, by itself or by what it calls?"""
        scope = self.scope
        if STEPS.search(scope.module.text(node)):
            return True
        cls = scope.self_value.cls if isinstance(scope.self_value, Thing) else None
        classes = () if cls is None else (cls,)
        if any(map(self.spends, self.called_in(scope.module, node.body, classes))):
            return True
        called = (inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call))
        local = (self.eval_quietly(f) for f in called if isinstance(f, ast.Name))
        return any(isinstance(f, FunctionDef) and self.spends(f) for f in local)

    def _gives_up(
        self, statements: list[ast.stmt], test: ast.expr, guard: bool, asked: Condition
    ) -> bool:
        """Does this branch drop gradients, and leave it at that?"""
        leaves = bool(statements) and isinstance(statements[-1], LEAVING)
        outlier = guard or (leaves and not counts_rounds(asked) and self._looks_at_a_loss(test))
        if leaves and outlier:
            return True
        drops = any(CLEARS.search(self.scope.module.text(s)) for s in statements)
        return drops and (guard or leaves)

    def _looks_at_a_loss(self, test: ast.expr) -> bool:
        """`if loss > 100: continue`: this batch is not to count."""
        names = {inner.id for inner in ast.walk(test) if isinstance(inner, ast.Name)}
        return not names.isdisjoint(self.backwarded()) or any("loss" in n.lower() for n in names)

    def excuse(self, node: ast.AST) -> None:
        """Behind a guard, or where an iteration is given up, to drop gradients is on purpose."""
        self.emit(Excuses(self.at(node)))

    def matching(self, node: ast.Match) -> None:
        """`match`: one of the cases."""
        self.eval(node.subject)

        def rest(cases: list[ast.match_case]) -> None:
            if not cases:
                return
            then, orelse = self.both(lambda: self.run(cases[0].body), lambda: rest(cases[1:]))
            self.out.append(branch(then, orelse, None))

        rest(node.cases)

    def returning(self, node: ast.Return) -> None:
        """`return`."""
        ways = [self.eval(way) for way in self._ways_to_return(node.value)] or [NONE]
        self.returned(reduce(join, ways), node)
        self.scope.returned += ways
        self.out.append(Leave("return"))

    def _ways_to_return(self, value: ast.expr | None) -> Iterator[ast.expr]:
        """`return out if y is None else (loss, out)`: one thing, or several."""
        match value:
            case ast.IfExp(test, one, other) if isinstance(one, ast.Tuple) is not isinstance(
                other, ast.Tuple
            ):
                answer = self.answer(test)
                yield from [one, other] if answer is None else [one if answer else other]
            case ast.expr():
                yield value

    def returned(self, value: Known, node: ast.Return) -> None:
        """What a framework does with what its hook returns."""

    def raising(self, node: ast.Raise) -> None:
        """`raise`."""
        ends = node.exc is not None and called_name(node.exc) == "SystemExit"
        self.out.append(Leave("exit" if ends else "raise"))

    def breaking(self, node: ast.Break) -> None:
        """`break`."""
        self.out.append(Leave("break"))

    def continuing(self, node: ast.Continue) -> None:
        """`continue`."""
        self.out.append(Leave("continue"))


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


def _answered(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_an_answer(node.value):
            yield from {last_name(target) for target in node.targets}


def _is_an_answer(value: ast.expr) -> bool:
    """Yes, no, or whether two things are equal?"""
    return any(
        (isinstance(inner, ast.Constant) and isinstance(inner.value, bool) and inner is value)
        or (isinstance(inner, ast.Compare) and isinstance(inner.ops[0], ast.Eq))
        for inner in ast.walk(value)
    )


def _asks_when(test: ast.expr) -> bool:
    """`epoch != 0`, `step < start`, `takes_over(step)`: not of which kind it is, but when."""
    return any(
        called_name(inner) not in _ASK_OF_WHICH_KIND
        if isinstance(inner, ast.Call)
        else isinstance(inner, ast.Compare) and _compares_numbers(inner)
        for inner in ast.walk(test)
    )


def _compares_numbers(compared: ast.Compare) -> bool:
    return not isinstance(compared.ops[0], ast.Is | ast.IsNot) and not any(
        isinstance(side, ast.Constant) and isinstance(side.value, str)
        for side in (compared.left, *compared.comparators)
    )


def _without_strange_schedules(then: Program, orelse: Program) -> tuple[Program, Program]:
    """Where one side steps and schedules, and the other only schedules, somebody else steps."""
    stepping = [holds(then, Spends), holds(orelse, Spends)]
    if stepping[0] == stepping[1] or not holds(orelse if stepping[0] else then, Schedule):
        return then, orelse
    return (then, without(orelse, Schedule)) if stepping[0] else (without(then, Schedule), orelse)


def _bounded_above(test: ast.expr) -> ast.expr | None:
    """What is asked to be small: `i` in `i < start` and in `start > i`."""
    match test:
        case ast.Compare(left=low, ops=[ast.Lt() | ast.LtE()]):
            return low
        case ast.Compare(ops=[ast.Gt() | ast.GtE()], comparators=[low]):
            return low
    return None
