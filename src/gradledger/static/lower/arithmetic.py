"""What is computed from what: arithmetic of losses, counters and parameters."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from gradledger.ledger.values import replace
from gradledger.static import budget
from gradledger.static.domain.contents import are_among, carried_by
from gradledger.static.domain.join import join
from gradledger.static.domain.values import (
    LAST_INDEX,
    LENGTH,
    NO_PLACES,
    PLAIN,
    Constant,
    External,
    Flag,
    Gradients,
    Items,
    Known,
    Parameters,
    Places,
    Thing,
    is_plain,
    kept_in,
    reach_of,
)
from gradledger.static.domain.weights import (
    MEAN,
    NO_COEFFICIENTS,
    SUM,
    multiplied,
    operator_of,
    sum_of,
    times,
    weight_of,
)
from gradledger.static.ir.effects import Reads
from gradledger.static.ir.keys import NO_KEYS, Keys
from gradledger.static.lower.attributes import named_by
from gradledger.static.lower.condition_keys import counts_rounds
from gradledger.static.lower.counting import count_result
from gradledger.static.lower.loader_sizes import shape_of
from gradledger.static.lower.names import where
from gradledger.static.lower.window_weights import divide
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

TOKENS = Pattern(r"^(n|num)_?tokens$")
"""What a batch calls the number of its tokens."""


def used(machine: Machine, node: ast.expr | None) -> Known:
    """The same, of an operand or an argument: who takes a `.grad` has read it."""
    value = machine.eval(node)
    if isinstance(value, Gradients) and node is not None:
        machine.emit(Reads(machine.at(node), *named_by(value.of)))
        return PLAIN
    return value


def eval_binary(machine: Machine, node: ast.BinOp) -> Known:
    """Arithmetic: of counters, of parameters, of losses."""
    left, right = used(machine, node.left), used(machine, node.right)
    operator = operator_of(node)
    counted = count_result(left, right, node)
    if counted is not None:
        return counted
    if left == LENGTH and isinstance(node.op, ast.Sub) and right == Constant.of(1):
        return LAST_INDEX
    if isinstance(left, Items) and isinstance(right, Items) and operator == "+":
        return Items(left.values + right.values)
    if isinstance(left, Parameters) and isinstance(right, Parameters):
        return Parameters(left.keys | right.keys, left.of | right.of)
    return combined(machine, left, right, operator, node)


def combined(machine: Machine, left: Known, right: Known, operator: str, node: ast.AST) -> Known:
    """A tensor that is computed from two others."""
    if is_plain(left) and is_plain(right):
        shape = shape_of(left) or shape_of(right)
        return Thing(plain=True, shape=shape) if shape else PLAIN
    if operator == "/" and is_plain(left):
        return PLAIN
    weight, coefficients = replace(weight_of(left), divisor=None), NO_COEFFICIENTS
    if operator == "/" and is_plain_number(right):
        spelled = node.right if isinstance(node, ast.BinOp) else getattr(node, "value", None)
        weight = divide(machine, weight_of(left), right, spelled, node)
        if weight_of(left) == SUM and isinstance(node, ast.BinOp):
            weight = MEAN if _counts_the_batch(machine, node.right) else weight
    elif operator == "*":
        if is_plain_number(right) or _may_be_a_number(right, beside=left):
            weight = multiplied(weight_of(left), right, machine.at(node))
            coefficients = times(left, getattr(node, "right", None))
        elif is_plain_number(left) or _may_be_a_number(left, beside=right):
            weight = multiplied(weight_of(right), left, machine.at(node))
            coefficients = times(right, getattr(node, "left", None))
    elif operator == "+":
        weight, coefficients = sum_of(left, right)
    made = computed(machine, left, right)
    among = are_among(left, right)
    return replace(made, weight=weight, coefficients=coefficients, among=among)


def _counts_the_batch(machine: Machine, node: ast.expr) -> bool:
    """`batch.ntokens`, `len(y)`, `y.numel()`, of what this round of the loop was given?"""
    match node:
        case (
            ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=data)])
            | ast.Call(func=ast.Attribute(ast.Name(id=data), "numel"), args=[])
            | ast.Call(func=ast.Attribute(ast.Name(id=data), "size"), args=[ast.Constant(0)])
            | ast.Subscript(ast.Attribute(ast.Name(id=data), "shape"), ast.Constant(0))
        ):
            pass
        case ast.Attribute(ast.Name(id=data), attr) if TOKENS.search(attr):
            pass
        case _:
            return False
    loop = machine.context.loops[-1].node if machine.context.loops else None
    if loop is None or where(machine, data) not in machine.context.loops[-1].assigned:
        return False
    return any(isinstance(n, ast.Name) and n.id == data for n in ast.walk(loop.target))


def computed(machine: Machine, *values: Known, sure: bool = True) -> Thing:
    """What is computed from these: its graph leads where theirs do."""
    if not machine.context.grad_enabled:
        return PLAIN
    if all(map(is_plain, values)):
        return PLAIN
    things = [v for v in values if isinstance(v, Thing) and not v.plain]
    reach = NO_KEYS.union(*map(_graph_of, values))
    maybe = NO_KEYS.union(*(t.maybe for t in things))
    if not sure:
        # What code out of sight does with an object, a model among them, nobody knows.
        surely = NO_KEYS.union(*(_graph_of(v) for v in values if not _is_object(v)))
        reach, maybe = surely, maybe | (reach - surely)
        machine.log.in_doubt |= surely
    return Thing(
        reach=reach,
        maybe=maybe,
        scaler=next((t.scaler for t in things if t.scaler), None),
        scaled_if=next((t.scaled_if for t in things if t.scaled_if), None),
        kept=frozenset().union(*map(kept_in, values)),
        carried=frozenset().union(*map(carried_by, values)) if sure else frozenset(),
        local=any(t.local for t in things),
        depth=min(
            (t.depth for t in things if t.reach and t.sure), default=len(machine.context.loops)
        ),
        sure=sure and any(t.sure or t.leaf for t in things),
        passes=passes_of(values),
        by_name=any(t.by_name for t in things),
    )


def _flag(machine: Machine, test: ast.expr) -> Known | None:
    """A condition as a value: a truth that is known, or one about windows and rounds."""
    if not machine.context.loops and not isinstance(test, ast.Compare):
        return None
    asked = machine.condition(test)
    if isinstance(asked, bool):
        return Constant.of(asked)
    return Flag(asked) if counts_rounds(asked) else None


def eval_unary(machine: Machine, node: ast.UnaryOp) -> Known:
    """`-loss` is as good a loss as any."""
    if isinstance(node.op, ast.Not) and (flag := _flag(machine, node)) is not None:
        return flag
    value = used(machine, node.operand)
    if isinstance(value, Constant) and isinstance(node.op, ast.USub):
        number = value.value
        return Constant.of(-number) if isinstance(number, int | float) else PLAIN
    if isinstance(node.op, ast.Not):
        return PLAIN
    if isinstance(value, Thing) and value.leaf and not value.plain:
        return computed(machine, value)  # the graph of what is made of a leaf leads to it
    return replace(value, key="", leaf=False) if isinstance(value, Thing) else value


def eval_boolean(machine: Machine, node: ast.BoolOp) -> Known:
    """`a or b` is one of them."""
    flag = _flag(machine, node)
    if flag is not None:
        return flag
    values = [machine.eval(value) for value in node.values]
    machine.effort.count_work((len(values) // budget.OPERANDS_IN_A_STEP) ** 2)
    value = values[0]
    for other in values[1:]:
        value = join(value, other)
    return value


def eval_comparison(machine: Machine, node: ast.Compare) -> Known:
    """A truth; to ask whether a gradient is None is not to read it."""
    flag = _flag(machine, node)
    if flag is not None:
        return flag
    for operand in (node.left, *node.comparators):
        value = machine.eval(operand)
        if isinstance(value, Gradients) and not all(
            isinstance(op, ast.Is | ast.IsNot) for op in node.ops
        ):
            machine.emit(Reads(machine.at(operand), *named_by(value.of)))
    return PLAIN


def keys_of(machine: Machine, value: Known) -> Keys:
    """Whose parameters an optimizer gets, or are clipped."""
    match value:
        case Parameters():
            return value.keys
        case Items():
            if "params" in value.names:
                # A param group: what else is in it are numbers.
                groups = zip(value.names, value.values, strict=False)
                return NO_KEYS.union(*(keys_of(machine, v) for n, v in groups if n == "params"))
            return NO_KEYS.union(*map(partial(keys_of, machine), value.values))
        case Thing() if not value.plain:
            if value.key and not value.reach:
                return frozenset({value.key})
            return frozenset(k for k in value.reach if not _is_option(k))
        case _:
            return NO_KEYS


def passes_of(values: Iterable[Known]) -> Places:
    """The calls that all graphs of these were made by; none where one of them is not known."""
    found = NO_PLACES
    for value in values:
        match value:
            case Items():
                made = passes_of(value.values)
            case Thing(plain=False) if value.reach or not value.leaf:
                made = value.passes
            case Parameters() | Gradients():
                return NO_PLACES
            case _:
                continue
        if not made and not is_plain(value):
            return NO_PLACES
        found |= made
    return found


def is_plain_number(value: Known) -> bool:
    """Can it be a number that a loss is divided by? Unknown names are."""
    if isinstance(value, Thing):
        return value.plain or not value.reach
    return is_plain(value)


def _may_be_a_number(value: Known, *, beside: Known) -> bool:
    """`(1 - self.ratio) * loss`: computed of what is not known, and multiplied with a mean."""
    if isinstance(value, Thing) and (value.sure or value.weight.reduction is not None):
        return False
    mean = isinstance(beside, Thing) and beside.sure and weight_of(beside) == MEAN
    return mean and isinstance(value, Thing | External)


def _is_option(key: str) -> bool:
    name = key.rpartition(":")[2].partition(".")[0]
    return name in ("args", "cfg", "config", "opts", "conf", "hparams", "flags", "FLAGS", "params")


def _is_object(value: Known) -> bool:
    """Is it a thing that holds others, and no tensor that was computed?"""
    if not isinstance(value, Thing) or value.leaf:
        return False
    made = value.built.rpartition(".")[2][:1].isupper()
    return value.cls is not None or made or not value.reach


def _graph_of(value: Known) -> Keys:
    """Where the graph of an operand leads: a leaf is a part of it, a number is not."""
    if isinstance(value, Thing):
        return NO_KEYS if value.plain else reach_of(value)
    return reach_of(value)


def _value_text(node: ast.AST) -> str:
    value = getattr(node, "value", None)
    return ast.unparse(value) if isinstance(value, ast.expr) else "?"


def _is_more_than_one(test: ast.expr) -> bool:
    """`window > 1`."""
    match test:
        case ast.Compare(ops=[ast.Gt() | ast.NotEq()], comparators=[ast.Constant(value=1)]):
            return True
    return False
