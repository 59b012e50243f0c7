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
from gradledger.static.lower.attributes import guard
from gradledger.static.lower.condition_keys import (
    UNNAMED,
    Ask,
    Condition,
    both,
    counts_rounds,
    negated,
)
from gradledger.static.lower.condition_texts import (
    by_text,
    is_list_of_all,
    kind_answer,
    named_condition,
    variables_in,
)
from gradledger.static.lower.loop_ends import first_round, last_round
from gradledger.static.lower.quiet_values import impure, operand_text
from gradledger.static.lower.spelling import last_name
from gradledger.static.lower.windows import window_condition, window_set_back
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

LAST = Pattern(
    r"(?:^|[._:])(?:is_)?(?:last|final)(?:_batch|_iter|_micro_?batch|_step)?$"
    r"|end_of_(?:dataloader|epoch)$"
)
"""Names for: this is the last batch of the epoch."""


def condition(machine: Machine, test: ast.expr, positive: bool = True) -> Condition:
    """The condition that a test asks for."""
    of_a_kind = kind_answer(machine, test)
    if of_a_kind is not None:
        return of_a_kind is positive
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            return condition(machine, operand, not positive)
        case ast.BoolOp(op, values):
            parts = [condition(machine, value, positive) for value in values]
            if isinstance(op, ast.Or) and any(map(_ends_a_window, parts)):
                told = zip(parts, values, strict=True)
                parts = [_or_the_last(machine, asked, value, positive) for asked, value in told]
            return both(tuple(parts), isinstance(op, ast.And) == positive)
        case ast.Compare(left, [op], [right]):
            return _compared(machine, left, op, right, positive)
        case ast.Compare(left, ops, rest):
            sides = zip([left, *rest], ops, rest, strict=False)
            return both(tuple(_compared(machine, *side, positive) for side in sides), positive)
        case ast.NamedExpr():
            machine.eval(test)
            return UNNAMED
        case ast.BinOp(op=ast.Mod()):
            return window_condition(machine, test, ast.NotEq(), Constant.of(0), positive) or UNNAMED
        case ast.Call():
            return _called_condition(machine, test, positive)
        case _:
            return _truth_condition(machine, machine.eval(test), test, positive)


def _or_the_last(machine: Machine, asked: Condition, test: ast.expr, positive: bool) -> Condition:
    """`or step == most`, `or self.is_last(i)`: next to the end of a window, that of the loop.

    A counter that runs on over all epochs tells the end of the last one alone.
    """
    if (
        not isinstance(test, ast.Compare | ast.Call)
        or counts_rounds(asked)
        or not machine.context.loops
    ):
        return asked
    loop, names = machine.context.loops[-1], variables_in(machine, test)
    counts = [v for v in map(machine.flow.store.get, names) if isinstance(v, Count)]
    if isinstance(asked, bool) or any(not count.loop for count in counts):
        return asked
    if not counts and names.isdisjoint(loop.assigned):
        return asked
    loop.last = condition_names.last_round(loop.id)
    return Ask(loop.last, positive)


def _truth_condition(machine: Machine, value: Known, test: ast.expr, positive: bool) -> Condition:
    match value:
        case Constant(value=known):
            return bool(known) is positive
        case Flag(asked=asked):
            return asked if positive else negated(asked)  # type: ignore[arg-type,return-value]
        case Gradients():
            guard(machine, value.of)
            return positive
        case Optimizer() | Scaler() | Scheduler() | Parameters():
            return positive
        case Items(values=values) if values:
            return positive
        case Count(loop=loop_id, plus=0) if loop_id:
            return first_round(machine, value, ast.NotEq(), Constant.of(0), positive) or UNNAMED
        case Thing(key=key) if machine.context.loops and LAST.search(key or ast.unparse(test)):
            loop = machine.context.loops[-1]
            loop.last = condition_names.last_round(loop.id)
            return Ask(loop.last, positive)
        case Thing(key=key) if key:
            return named_condition(machine, key, {key}, positive)
        case _:
            return by_text(machine, test, positive)


def _compared(
    machine: Machine, left: ast.expr, op: ast.cmpop, right: ast.expr, positive: bool
) -> Condition:
    b = machine.eval(right)
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
        window = window_condition(machine, left, op, b, positive)
        if window is not None:
            return window
    a = machine.eval(left)
    if isinstance(left, ast.Name) and left.id == "__name__":
        return isinstance(op, ast.Eq) is positive
    for one, other in ((a, b), (b, a)):
        if other == NONE and isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
            missing = isinstance(op, ast.Is | ast.Eq)
            return _none_condition(machine, one, left if one is a else right, missing is positive)
    if isinstance(a, Constant) and isinstance(b, Constant):
        return _constants(a.value, op, b.value, positive)
    if isinstance(a, Count) and isinstance(left, ast.Name):
        full = window_set_back(machine, a, left, op, b, right, positive)
        if full is not None:
            return full
    if isinstance(a, Count) and isinstance(b, Constant):
        begun = first_round(machine, a, op, b, positive)
        if begun is not None:
            return begun
    if isinstance(a, Count) or isinstance(b, Count):
        ended = last_round(machine, a, left, op, b, right, positive)
        if ended is not None:
            return ended
    if b == Constant.of(1) and isinstance(op, ast.Gt | ast.LtE) and _counts_a_window(left):
        positive = positive is isinstance(op, ast.LtE)
        op = ast.Eq()  # a window has one micro-batch or more
    negated = isinstance(op, ast.NotEq | ast.IsNot | ast.NotIn)
    name = _OPPOSITES.get(type(op).__name__, type(op).__name__)
    text = f"{operand_text(machine, a, left)} {name} {operand_text(machine, b, right)}"
    names = variables_in(machine, left) | variables_in(machine, right)
    if impure(machine, left) or impure(machine, right):
        return UNNAMED
    return named_condition(machine, text, names, positive is not negated)


def _none_condition(machine: Machine, value: Known, node: ast.expr, missing: bool) -> Condition:
    """Is it None? Gradients that are looked at in a loop over parameters are there."""
    match value:
        case Constant():
            return (value == NONE) is missing
        case Gradients():
            # To guard against None is to be careful, not to have a second path.
            guard(machine, value.of)
            return not missing
        case Optimizer(outside=False) | Items() | FunctionDef() | ClassDef():
            return not missing
        case Optimizer() | Scaler() | Scheduler():
            name = is_given(value.key or value.name)
            return named_condition(machine, name, variables_in(machine, node), not missing)
        case Thing(key=key) if key:
            made = value.cls is not None or value.reach or _is_no_choice(value.built)
            if made and not value.optional:
                return not missing
            if any(key in (optimizer.keys or ()) for optimizer in machine.log.optimizers.values()):
                return not missing  # its parameters were given to an optimizer
            return named_condition(machine, is_given(key), {key}, not missing)
        case Thing() if not impure(machine, node):
            name = is_given(operand_text(machine, value, node))
            return named_condition(machine, name, variables_in(machine, node), not missing)
        case _:
            return UNNAMED


def _called_condition(machine: Machine, test: ast.Call, positive: bool) -> Condition:
    value = machine.eval(test)
    if isinstance(value, Constant):
        return bool(value.value) is positive
    name = test.func.attr if isinstance(test.func, ast.Attribute) else getattr(test.func, "id", "")
    if name == "isinstance" and is_list_of_all(machine, test):
        return positive
    if name == "is_autocast_enabled" and not machine.context.autocast:
        return not positive  # whoever asks behind the block is told no
    if name.startswith(("is_", "use_", "has", "isinstance", "should")) and not _changing(test):
        return by_text(machine, test, positive)
    return UNNAMED


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
