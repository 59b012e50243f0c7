"""Conditions: which are the same, and which are known."""

from __future__ import annotations

from gradledger.static.domain.values import (
    NONE,
    ClassDef,
    Constant,
    Count,
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
from gradledger.static.ir import condition_names
from gradledger.static.ir.answers import is_given
from gradledger.static.lower.condition_keys import (
    UNNAMED,
    Ask,
    Condition,
    both,
    counts_rounds,
    negated,
)
from gradledger.static.lower.spelling import last_name
from gradledger.static.lower.windows import Windows
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

LAST = Pattern(
    r"(?:^|[._:])(?:is_)?(?:last|final)(?:_batch|_iter|_micro_?batch|_step)?$"
    r"|end_of_(?:dataloader|epoch)$"
)
"""Names for: this is the last batch of the epoch."""

_LISTS = frozenset({"list", "tuple", "Sequence", "Iterable"})


class Conditions(Windows):
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
        of_a_kind = self._of_a_kind(test)
        if of_a_kind is not None:
            return of_a_kind is positive
        match test:
            case ast.UnaryOp(ast.Not(), operand):
                return self.condition(operand, not positive)
            case ast.BoolOp(op, values):
                parts = [self.condition(value, positive) for value in values]
                if isinstance(op, ast.Or) and any(map(_ends_a_window, parts)):
                    told = zip(parts, values, strict=True)
                    parts = [self._or_the_last(asked, value, positive) for asked, value in told]
                return both(tuple(parts), isinstance(op, ast.And) == positive)
            case ast.Compare(left, [op], [right]):
                return self._compared(left, op, right, positive)
            case ast.Compare(left, ops, rest):
                sides = zip([left, *rest], ops, rest, strict=False)
                return both(tuple(self._compared(*side, positive) for side in sides), positive)
            case ast.NamedExpr():
                self.eval(test)
                return UNNAMED
            case ast.BinOp(op=ast.Mod()):
                return self._window(test, ast.NotEq(), Constant.of(0), positive) or UNNAMED
            case ast.Call():
                return self._called_condition(test, positive)
            case _:
                return self._truth(self.eval(test), test, positive)

    def _or_the_last(self, asked: Condition, test: ast.expr, positive: bool) -> Condition:
        """`or step == most`, `or self.is_last(i)`: next to the end of a window, that of the loop.

        A counter that runs on over all epochs tells the end of the last one alone.
        """
        if not isinstance(test, ast.Compare | ast.Call) or counts_rounds(asked) or not self.loops:
            return asked
        loop, names = self.loops[-1], self._variables(test)
        counts = [v for v in map(self.store.get, names) if isinstance(v, Count)]
        if isinstance(asked, bool) or any(not count.loop for count in counts):
            return asked
        if not counts and names.isdisjoint(loop.assigned):
            return asked
        loop.last = condition_names.last_round(loop.id)
        return Ask(loop.last, positive)

    def _truth(self, value: Known, test: ast.expr, positive: bool) -> Condition:
        match value:
            case Constant(value=known):
                return bool(known) is positive
            case Flag(asked=asked):
                return asked if positive else negated(asked)  # type: ignore[arg-type,return-value]
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
                loop.last = condition_names.last_round(loop.id)
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
            full = self._window_set_back(a, left, op, b, right, positive)
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
                name = is_given(value.key or value.name)
                return self._named(name, self._variables(node), not missing)
            case Thing(key=key) if key:
                made = value.cls is not None or value.reach or _is_no_choice(value.built)
                if made and not value.optional:
                    return not missing
                if any(key in (optimizer.keys or ()) for optimizer in self.optimizers.values()):
                    return not missing  # its parameters were given to an optimizer
                return self._named(is_given(key), {key}, not missing)
            case Thing() if not self._impure(node):
                name = is_given(self._text(value, node))
                return self._named(name, self._variables(node), not missing)
            case _:
                return UNNAMED

    def _called_condition(self, test: ast.Call, positive: bool) -> Condition:
        value = self.eval(test)
        if isinstance(value, Constant):
            return bool(value.value) is positive
        name = (
            test.func.attr if isinstance(test.func, ast.Attribute) else getattr(test.func, "id", "")
        )
        if name == "isinstance" and self._is_list_of_all(test):
            return positive
        if name == "is_autocast_enabled" and not self.autocast:
            return not positive  # whoever asks behind the block is told no
        if name.startswith(("is_", "use_", "has", "isinstance", "should")) and not _changing(test):
            return self._by_text(test, positive)
        return UNNAMED

    def _of_a_kind(self, test: ast.expr) -> bool | None:
        """Is what a test asks the type of of this type? None where nobody knows, or asks."""
        from gradledger.static.domain.types import asked_kind, is_one_of

        asked = asked_kind(test)
        if asked is None:
            return None
        spelled, kinds = asked
        return is_one_of(self.eval_quietly(spelled), kinds)

    def _is_list_of_all(self, test: ast.Call) -> bool:
        """`isinstance(nets, list)`, of nets that are known one by one."""
        match test.args:
            case [asked, ast.Name(id=kind) | ast.Tuple(elts=[ast.Name(id=kind), *_])]:
                value = self.eval_quietly(asked)
                return isinstance(value, Items) and not value.names and kind in _LISTS
        return False

    def _by_text(self, test: ast.expr, positive: bool) -> Condition:
        if self._impure(test) and not isinstance(test, ast.Call):
            return UNNAMED
        text = self._path(test) or f"{self.scope.id}{self.spelled(test)}"
        return self._named(text, self._variables(test), positive)

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


def _is_no_choice(built: str) -> bool:
    """Is what made this known to make something? A function that is not in sight may give None."""
    owner, _, name = built.rpartition(".")
    return name[:1].isupper() or owner.partition(".")[0] in ("torch", "builtins", "numpy")


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


def _counts_a_window(node: ast.expr) -> bool:
    """`grad_accum_count`, `args.accumulation_steps`: the micro-batches of a window."""
    return "accum" in last_name(node).lower()


def _changing(test: ast.Call) -> bool:
    return bool(test.args) and not all(isinstance(a, ast.Name | ast.Attribute) for a in test.args)


_OPPOSITES = {"NotEq": "Eq", "IsNot": "Is", "NotIn": "In"}


def _ends_a_window(asked: Condition) -> bool:
    return isinstance(asked, Ask) and condition_names.window_of(asked.name or "") is not None
