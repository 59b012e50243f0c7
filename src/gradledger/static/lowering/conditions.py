"""Conditions: which are the same, which are known, and which tell a window's beginning and end."""

from __future__ import annotations

import ast
import re

from gradledger.ledger.values import Value
from gradledger.static.lowering import rounds
from gradledger.static.lowering.calls import Calls
from gradledger.static.lowering.dividing import settings
from gradledger.static.lowering.state import LoopState
from gradledger.static.lowering.values import (
    LAST_INDEX,
    LENGTH,
    NONE,
    ClassDef,
    Constant,
    Count,
    External,
    Flag,
    FunctionDef,
    Gradients,
    Items,
    Known,
    Optimizer,
    Parameters,
    Scaler,
    Scheduler,
    Thing,
)
from gradledger.static.patterns import Pattern


class Ask(Value):
    """A condition by name; None where it is no two times the same."""

    name: str | None
    positive: bool = True


class Both(Value):
    """`a and b`, or, negated, `a or b`."""

    parts: tuple[Condition, ...]
    all: bool


Condition = bool | Ask | Both

UNNAMED = Ask(None)

LAST = Pattern(
    r"(?:^|[._:])(?:is_)?(?:last|final)(?:_batch|_iter|_micro_?batch|_step)?$"
    r"|end_of_(?:dataloader|epoch)$"
)
"""Names for: this is the last batch of the epoch."""


class Conditions(Calls):
    """What is asked in an `if`."""

    def answer(self, test: ast.expr) -> bool | None:
        """Whether a condition is surely true or false."""
        asked = self.condition(test)
        return asked if isinstance(asked, bool) else None

    def flag(self, test: ast.expr) -> Known | None:
        """A condition as a value: a truth that is known, or one about windows and rounds."""
        if not self.loops and not isinstance(test, ast.Compare):
            return None
        asked = self.condition(test)
        if isinstance(asked, bool):
            return Constant.of(asked)
        return Flag(asked) if counts_rounds(asked) else None

    def condition(self, test: ast.expr, positive: bool = True) -> Condition:
        """The condition that a test asks for."""
        match test:
            case ast.UnaryOp(ast.Not(), operand):
                return self.condition(operand, not positive)
            case ast.BoolOp(op, values):
                parts = tuple(self.condition(value, positive) for value in values)
                return _both(parts, isinstance(op, ast.And) == positive)
            case ast.Compare(left, [op], [right]):
                return self._compared(left, op, right, positive)
            case ast.NamedExpr():
                self.eval(test)
                return UNNAMED
            case ast.BinOp(op=ast.Mod()):
                return self._window(test, ast.NotEq(), Constant.of(0), positive) or UNNAMED
            case ast.Call():
                return self._called_condition(test, positive)
            case _:
                return self._truth(self.eval(test), test, positive)

    def _truth(self, value: Known, test: ast.expr, positive: bool) -> Condition:
        match value:
            case Constant(value=known):
                return bool(known) is positive
            case Flag(asked=asked):
                return asked if positive else _negated(asked)  # type: ignore[arg-type,return-value]
            case Gradients():
                self.guarded = True
                return positive
            case Optimizer() | Scaler() | Scheduler() | Parameters():
                return positive
            case Items(values=values) if values:
                return positive
            case Count(loop=loop_id, plus=0) if loop_id:
                return self._first_round(value, ast.NotEq(), Constant.of(0), positive) or UNNAMED
            case Thing(key=key) if self.loops and LAST.search(key or ast.unparse(test)):
                loop = self.loops[-1]
                loop.last = rounds.last_round(loop.id)
                return Ask(loop.last, positive)
            case Thing(key=key) if key:
                return self._named(key, {key}, positive)
            case _:
                return self._by_text(test, positive)

    def _compared(
        self, left: ast.expr, op: ast.cmpop, right: ast.expr, positive: bool
    ) -> Condition:
        b = self.eval(right)
        if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
            window = self._window(left, op, b, positive)
            if window is not None:
                return window
        a = self.eval(left)
        if isinstance(left, ast.Name) and left.id == "__name__":
            return isinstance(op, ast.Eq) is positive
        for one, other in ((a, b), (b, a)):
            if other == NONE and isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
                missing = isinstance(op, ast.Is | ast.Eq)
                return self._none(one, left if one is a else right, missing is positive)
        if isinstance(a, Constant) and isinstance(b, Constant):
            return _constants(a.value, op, b.value, positive)
        if isinstance(a, Count) and isinstance(left, ast.Name):
            full = self._window_set_back(a, left, op, b, positive)
            if full is not None:
                return full
        if isinstance(a, Count) and isinstance(b, Constant):
            begun = self._first_round(a, op, b, positive)
            if begun is not None:
                return begun
        if isinstance(a, Count) or isinstance(b, Count):
            ended = self._last_round(a, left, op, b, right, positive)
            if ended is not None:
                return ended
        if b == Constant.of(1) and isinstance(op, ast.Gt | ast.LtE) and _counts_a_window(left):
            positive = positive is isinstance(op, ast.LtE)
            op = ast.Eq()  # a window has one micro-batch or more
        negated = isinstance(op, ast.NotEq | ast.IsNot | ast.NotIn)
        name = _OPPOSITES.get(type(op).__name__, type(op).__name__)
        text = f"{self._text(a, left)} {name} {self._text(b, right)}"
        names = self._variables(left) | self._variables(right)
        if self._impure(left) or self._impure(right):
            return UNNAMED
        return self._named(text, names, positive is not negated)

    def _none(self, value: Known, node: ast.expr, missing: bool) -> Condition:
        """Is it None? Gradients that are looked at in a loop over parameters are there."""
        match value:
            case Constant():
                return (value == NONE) is missing
            case Gradients():
                # To guard against None is to be careful, not to have a second path.
                self.guarded = True
                return not missing
            case Optimizer(outside=False) | Items() | FunctionDef() | ClassDef():
                return not missing
            case Optimizer() | Scaler() | Scheduler():
                name = f"{value.key or value.name} is given"
                return self._named(name, self._variables(node), not missing)
            case Thing(key=key) if key:
                if not value.optional and (value.cls is not None or value.built or value.reach):
                    return not missing
                if any(key in (optimizer.keys or ()) for optimizer in self.optimizers.values()):
                    return not missing  # its parameters were given to an optimizer
                return self._named(f"{key} is given", {key}, not missing)
            case _:
                return UNNAMED

    def _window(
        self, left: ast.BinOp, op: ast.cmpop, right: Known, positive: bool
    ) -> Condition | None:
        """`(i + 1) % n == 0`: the last micro-batch of a window, or the first."""
        counter, size = self.eval(left.left), self.eval(left.right)
        if isinstance(op, ast.NotEq):
            positive = not positive
        elif not isinstance(op, ast.Eq):
            return None
        if size == Constant.of(1) or self._is_set_to_one(left.right):
            return positive
        if not isinstance(counter, Count):
            if isinstance(left.left, ast.Call):
                return UNNAMED  # `len(loader) % n`: no counter
            if isinstance(counter, Constant) and isinstance(size, Constant):
                return None
            counter = Count("")
        loop = self._loop_of(counter)
        if loop is None:
            return None
        size_text = self._text(size, left.right)
        if isinstance(size, Count):
            self.varying.add(size_text)
        known = 0
        if isinstance(size, Constant) and isinstance(size.value, int):
            known = size.value
        if not counter.loop:
            node, is_next = _next_of(left.left)
            group = rounds.running_window(self._text(counter, node), size_text)
            starts, ends = rounds.starts(group), rounds.ends(group)
            loop.windows[group] = starts, ends, known
            # Who asks for the next number, too, asks here for the first micro-batch.
            asks_for_first = not is_next and self._asks_for_next(node)
            return Ask(starts if asks_for_first else ends, positive)
        group = rounds.own_window(counter.loop, size_text)
        starts, ends = rounds.starts(group), rounds.ends(group)
        loop.windows[group] = starts, ends, known
        place = counter.plus - self._remainder(right, size, left.right)
        if place == 0:
            return Ask(starts, positive)
        if place == 1:
            return Ask(ends, positive)
        return Ask(f"{group} + {place}", positive) if place > 1 else UNNAMED

    def _window_set_back(
        self, counter: Count, name: ast.Name, op: ast.cmpop, size: Known, positive: bool
    ) -> Condition | None:
        """`pending == n`, of a counter that is then set to 0 again; and `pending == 0`."""
        loop = self._loop_of(counter)
        start = loop.set_back.get(self.full_name(name.id)) if loop else None
        if loop is None or start is None or not isinstance(op, ast.Eq | ast.GtE | ast.NotEq):
            return None
        number = size.value if isinstance(size, Constant) else None
        first = number == start and counter.plus == start
        if not first and (counter.plus != start + 1 or number in (start, start + 1)):
            return None
        group = rounds.own_window(counter.loop, name.id)
        starts, ends = rounds.starts(group), rounds.ends(group)
        loop.windows[group] = starts, ends, number - start if isinstance(number, int) else 0
        return Ask(starts if first else ends, positive is not isinstance(op, ast.NotEq))

    def _is_set_to_one(self, size: ast.expr) -> bool:
        """`cfg.window`, where all that the file says of a window is that it is 1."""
        if not isinstance(size, ast.Attribute):
            return False
        module = self.scope.module
        known = self.known.settings.get(id(module))
        if known is None:
            known = self.known.settings[id(module)] = settings(module.tree)
        return known.get(size.attr) == {1}

    def _asks_for_next(self, counter: ast.expr) -> bool:
        """Is there a `(counter + 1) % n` besides?"""
        around = self.scope.node or self.scope.module.tree
        following = re.escape(ast.unparse(counter)) + r"\s*\+\s*1\s*\)\s*%"
        return re.search(following, self.scope.module.text(around)) is not None

    def _remainder(self, right: Known, size: Known, size_node: ast.expr) -> int:
        """`== 0` is 0, and `== n - 1` is -1: one before the next window."""
        if isinstance(right, Constant) and isinstance(right.value, int):
            if isinstance(size, Constant) and isinstance(size.value, int):
                remainder = right.value % size.value if size.value else 0
                return remainder - size.value if remainder == size.value - 1 else remainder
            return right.value
        return -1

    def _loop_of(self, counter: Count) -> LoopState | None:
        for loop in reversed(self.loops):
            if not counter.loop or loop.id == counter.loop:
                return loop
        return None

    def _first_round(
        self, counter: Count, op: ast.cmpop, bound: Constant, positive: bool
    ) -> Condition | None:
        """`i == 0`, `epoch > 0`, `epoch >= 200`: true or false in a loop's first round."""
        loop = self._loop_of(counter)
        number = bound.value
        if loop is None or not counter.loop or not isinstance(number, int | float):
            return None
        loop.first = first = rounds.first_round(loop.id)
        start = counter.plus
        match op:
            case ast.Eq() | ast.LtE() if number == start:
                return Ask(first, positive)
            case ast.Lt() if number == start + 1:
                return Ask(first, positive)
            case ast.NotEq() | ast.Gt() if number == start:
                return Ask(first, not positive)
            case ast.GtE() if number == start + 1:
                return Ask(first, not positive)
            case ast.Gt() | ast.GtE() if number > start:
                late: Condition = Both((Ask(first, False), UNNAMED), True)
                return late if positive else _negated(late)
        return None

    def _last_round(
        self,
        a: Known,
        left: ast.expr,
        op: ast.cmpop,
        b: Known,
        right: ast.expr,
        positive: bool,
    ) -> Condition | None:
        """`i + 1 == len(loader)`: true in a loop's last round alone."""
        counter, bound = (a, right) if isinstance(a, Count) else (b, left)
        assert isinstance(counter, Count)
        loop = self._loop_of(counter)
        if loop is None or not counter.loop or loop.id != counter.loop:
            return None
        length = bound
        offset = counter.plus
        if isinstance(bound, ast.BinOp) and isinstance(bound.op, ast.Sub):
            inner = self.eval(bound.right)
            if isinstance(inner, Constant) and inner.value == 1:
                length, offset = bound.left, offset + 1
        value = self.eval_quietly(length)
        if value == LAST_INDEX:
            offset += 1
        named = _is_length(length) or self.spelled(length) == loop.length
        if offset != 1 or not (named or value in (LENGTH, LAST_INDEX)):
            return None
        smaller = isinstance(op, ast.Lt) if counter is a else isinstance(op, ast.Gt)
        if isinstance(op, ast.Eq | ast.GtE | ast.LtE):
            pass
        elif isinstance(op, ast.NotEq) or smaller:
            positive = not positive
        else:
            return None
        loop.last = rounds.last_round(loop.id)
        return Ask(loop.last, positive)

    def _called_condition(self, test: ast.Call, positive: bool) -> Condition:
        value = self.eval(test)
        if isinstance(value, Constant):
            return bool(value.value) is positive
        name = (
            test.func.attr if isinstance(test.func, ast.Attribute) else getattr(test.func, "id", "")
        )
        if name.startswith(("is_", "use_", "has", "isinstance", "should")) and not _changing(test):
            return self._by_text(test, positive)
        return UNNAMED

    def _by_text(self, test: ast.expr, positive: bool) -> Condition:
        if self._impure(test) and not isinstance(test, ast.Call):
            return UNNAMED
        text = self._path(test) or f"{self.scope.id}{self.spelled(test)}"
        return self._named(text, self._variables(test), positive)

    def _path(self, node: ast.expr) -> str:
        """`self.amp`, `torch.float16`: the same thing, whichever function asks for it."""
        if not isinstance(node, ast.Attribute) or self._impure(node):
            return ""
        match self.eval(node.value):
            case Thing(key=owner) if owner:
                return f"{owner}.{node.attr}"
            case External(dotted):
                return f"{dotted}.{node.attr}"
            case _:
                return ""

    def _named(self, text: str, variables: set[str], positive: bool) -> Ask:
        for variable in variables:
            self.condition_names.setdefault(variable, set()).add(text)
        return Ask(text, positive)

    def _variables(self, node: ast.expr) -> set[str]:
        found = set()
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                found.add(self.scope.id + inner.id)
            elif isinstance(inner, ast.Attribute):
                value = self.eval_quietly(inner)
                if isinstance(value, Thing) and value.key:
                    found.add(value.key)
                if path := self._path(inner):
                    found.add(path)
        return found

    def eval_quietly(self, node: ast.expr) -> Known:
        """The value of names and attributes, which does nothing."""
        if isinstance(node, ast.Name | ast.Attribute):
            return self.eval(node) if not self._impure(node) else Thing()
        return Thing()

    def _text(self, value: Known, node: ast.expr) -> str:
        match value:
            case Constant():
                return repr(value.value)
            case Thing(key=key) if key:
                return key
            case _:
                return self._path(node) or f"{self.scope.id}{self.spelled(node)}"

    def _impure(self, node: ast.expr) -> bool:
        known = self.known.impure.get(id(node))
        if known is None:
            known = any(isinstance(inner, ast.Call) for inner in ast.walk(node))
            self.known.impure[id(node)] = known
        return known


def counts_rounds(asked: Condition) -> bool:
    """Is it about where in a window or in a loop this is?"""
    if isinstance(asked, Ask):
        return asked.name is not None and rounds.of_rounds(asked.name)
    return isinstance(asked, Both) and any(map(counts_rounds, asked.parts))


def _negated(asked: Condition) -> Condition:
    match asked:
        case Ask(name, positive):
            return Ask(name, not positive)
        case Both(parts, every):
            return Both(tuple(map(_negated, parts)), not every)
        case _:
            return not asked


def _both(parts: tuple[Condition, ...], all: bool) -> Condition:
    if any(part is (not all) for part in parts):
        return not all
    rest = tuple(part for part in parts if part is not all)
    if not rest:
        return all
    return rest[0] if len(rest) == 1 else Both(rest, all)


def _constants(a: object, op: ast.cmpop, b: object, positive: bool) -> Condition:
    try:
        match op:
            case ast.Eq():
                return (a == b) is positive
            case ast.NotEq():
                return (a != b) is positive
            case ast.Gt():
                return (a > b) is positive  # type: ignore[operator]
            case ast.GtE():
                return (a >= b) is positive  # type: ignore[operator]
            case ast.Lt():
                return (a < b) is positive  # type: ignore[operator]
            case ast.LtE():
                return (a <= b) is positive  # type: ignore[operator]
    except TypeError:
        pass
    return UNNAMED


def _is_length(node: ast.expr) -> bool:
    """`len(loader)`, or a name for it."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    lowered = name.lower()
    return any(word in lowered for word in ("len", "num", "total", "batches", "n_", "size", "last"))


def is_remainder(node: ast.expr) -> bool:
    """`len(loader) % n`: what is left over of an epoch."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_length(node.left)


def _counts_a_window(node: ast.expr) -> bool:
    """`grad_accum_count`, `args.accumulation_steps`: the micro-batches of a window."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return "accum" in name.lower()


def _changing(test: ast.Call) -> bool:
    return bool(test.args) and not all(isinstance(a, ast.Name | ast.Attribute) for a in test.args)


_OPPOSITES = {"NotEq": "Eq", "IsNot": "Is", "NotIn": "In"}


def called_name(node: ast.expr) -> str:
    """The last name of what is called: `no_grad` of `torch.no_grad()`."""
    func = node.func if isinstance(node, ast.Call) else node
    if isinstance(func, ast.Call):
        return called_name(func)
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def _next_of(counter: ast.expr) -> tuple[ast.expr, bool]:
    """`i`, and whether it was `i + 1`."""
    match counter:
        case ast.BinOp(left=before, op=ast.Add(), right=ast.Constant(value=1)):
            return before, True
    return counter, False
