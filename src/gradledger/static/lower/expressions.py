"""Evaluates expressions: what they stand for, and what they do to gradients on the way."""

from __future__ import annotations

from gradledger.ledger.events import Release
from gradledger.ledger.values import replace
from gradledger.static import budget
from gradledger.static.domain.join import join
from gradledger.static.domain.values import (
    EVERY_KEY,
    PLAIN,
    UNKNOWN,
    Constant,
    FunctionDef,
    Gradients,
    Items,
    Known,
    Optimizer,
    Parameters,
    Places,
    Thing,
    is_plain,
    kept_in,
)
from gradledger.static.domain.weights import MEAN
from gradledger.static.ir.blocks import acts
from gradledger.static.ir.notes import ManyAsOne
from gradledger.static.ir.program import Loop
from gradledger.static.lower.arithmetic import computed, used
from gradledger.static.lower.attributes import LABELLED
from gradledger.static.lower.loader_sizes import sliced
from gradledger.static.lower.names import full_name
from gradledger.static.lower.noting import note
from gradledger.static.lower.scope_names import file_uses, load
from gradledger.static.lower.spelling import decided_by, last_name
from gradledger.static.lower.windows_of_one import ONE, as_option
from gradledger.static.models import graphless
from gradledger.static.source import syntax as ast
from gradledger.static.source.vocabulary import CUTS_IN_PLACE, OF_NETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp


def source_of(machine: Machine, node: ast.expr) -> str:
    """The text of an expression, without its spaces and comments."""
    known = machine.known.spelled.get(id(node))
    if known is None:
        known = machine.known.spelled[id(node)] = ast.unparse(node)
    return known


def eval_subscript(machine: Machine, node: ast.Subscript) -> Known:
    """The value of an item."""
    value = _subscript(machine, node)
    match node.slice:
        case ast.Constant(value=str(name)) if value == ONE:
            return as_option(machine, name, value, ast.unparse(node))
    return value


def _subscript(machine: Machine, node: ast.Subscript) -> Known:
    base, index = machine.eval(node.value), machine.eval(node.slice)
    match base, index:
        case Items(), Constant(value):
            if base.names:
                return base.at(value) or UNKNOWN
            if isinstance(value, int) and -len(base.values) <= value < len(base.values):
                return base.values[value]
            return UNKNOWN
        case Parameters(of=optimizers), Constant(str(name)) if optimizers and name != "params":
            return PLAIN  # what a param group has besides: its rate, its decay
        case Parameters(), _:
            return base
        case Gradients(), _:
            return replace(base, part=True)
        case Optimizer(), _:
            if not goes_through_all(machine, node.slice):
                note(machine, ManyAsOne, machine.at(node), optimizers=frozenset({base.name}))
            return base
        case Thing(), Constant(1) if _gives_places(node.value):
            return PLAIN
        case Thing(), _:
            return _item(machine, base, index, node)
        case Items(), _:
            any_of: Known = base.values[0] if base.values else UNKNOWN
            for other in base.values[1:]:
                any_of = join(any_of, other)
            return any_of
        case _:
            return UNKNOWN


def goes_through_all(machine: Machine, index: ast.expr) -> bool:
    """Does a loop pick each item of a collection by this, one in each round?"""
    name = decided_by(index)
    return bool(name) and full_name(machine, name) in machine.context.each_once


def _item(machine: Machine, base: Thing, index: Known, node: ast.Subscript) -> Known:
    which = repr(index.value) if isinstance(index, Constant) else "*"
    key = f"{base.key}[{which}]" if base.key else ""
    if key and which == "*" and file_uses(machine).role(base.key) == "optimizer":
        _note_pick(machine, key, index, node.slice)
    if key and (value := load(machine, key)) is not None:
        return value
    if base.plain:
        shape = sliced(base.shape, node.slice, index)
        return Thing(plain=True, shape=shape) if shape else PLAIN
    # What transformers' models give first is the loss.
    weight = MEAN if base.built == LABELLED and index == Constant.of(0) else base.weight
    return replace(base, key=key, leaf=False, cls=None, built="", weight=weight)


def _note_pick(machine: Machine, key: str, index: Known, spelled: ast.expr) -> None:
    """Who takes one optimizer of several by this key, and one by that, has two in his hands."""
    by = index.key if isinstance(index, Thing) and index.key else source_of(machine, spelled)
    if not goes_through_all(machine, spelled) and machine.log.picked.setdefault(key, by) != by:
        note(machine, ManyAsOne, machine.at(spelled), optimizers=frozenset({key}))


def eval_sequence(machine: Machine, node: ast.List | ast.Tuple | ast.Set) -> Known:
    """A list, a tuple or a set."""
    values: list[Known] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            inner = machine.eval(element.value)
            values += inner.values if isinstance(inner, Items) else (inner,)
        else:
            values.append(used(machine, element))
    if len(values) > budget.MOST_ITEMS:
        return computed(machine, *values, sure=False)
    kind = type(node).__name__.lower() if values else ""  # what is empty may be filled
    return Items(tuple(values), kind=kind)


def eval_dict(machine: Machine, node: ast.Dict) -> Known:
    """A dict."""
    values = tuple(used(machine, value) for value in node.values)
    if len(values) > budget.MOST_ITEMS:
        return computed(machine, *values, sure=False)
    names = tuple(key.value if isinstance(key, ast.Constant) else None for key in node.keys)
    return Items(values, names)


def eval_comprehension(
    machine: Machine, node: ast.ListComp | ast.GeneratorExp | ast.SetComp
) -> Known:
    """All that a comprehension makes, as one."""
    known, rounds = _bind_generators(machine, node)
    in_place = machine.context.scope.module.says(CUTS_IN_PLACE, node)
    if in_place and cuts_each(node.generators[0].target, node.elt):
        cut(machine, node.generators[0].iter)
    if known is not None and len(node.generators) == 1:
        values = []
        for item in known.values:
            machine.assign(node.generators[0].target, item)
            values.append(used(machine, node.elt))
        return Items(tuple(values))
    found: list[Known] = []
    block = machine.block(lambda: found.append(machine.eval(node.elt)))
    if acts(block):
        machine.out.append(Loop(block))
    value = found[0]
    if isinstance(value, Parameters | Gradients):
        return value
    if is_plain(value) and rounds:
        return Thing(plain=True, shape=(rounds,))
    if isinstance(value, Items) and any(isinstance(v, Parameters) for v in value.values):
        return value
    if is_plain(value):
        return PLAIN
    return replace(value, key="") if isinstance(value, Thing) else value


def cut(machine: Machine, spelled: ast.expr) -> None:
    """It has no graph any more: `state.detach_()`, of one part or of each."""
    while isinstance(spelled, ast.Subscript):
        spelled = spelled.value
    if isinstance(spelled, ast.Name | ast.Attribute):
        release(machine, kept_in(machine.eval(spelled)), spelled)
        machine.rebind(spelled, PLAIN)


def release(machine: Machine, places: Places, node: ast.AST) -> None:
    """What was kept at these places is let go."""
    for place in sorted(places, key=lambda p: p.sort_key):
        machine.emit(Release(machine.at(node), place))


def eval_dict_comprehension(machine: Machine, node: ast.DictComp) -> Known:
    """A dict made in one go."""
    _bind_generators(machine, node)
    machine.eval(node.key)
    value = used(machine, node.value)
    if isinstance(value, Parameters):
        return value
    if is_meter(value):
        return Items((value,), (EVERY_KEY,))
    return PLAIN if is_plain(value) else computed(machine, value, sure=False)


def _bind_generators(machine: Machine, node: Comprehension) -> tuple[Items | None, int | None]:
    """Gives names to the items, if they are known; and the rounds of the only generator."""
    known, rounds, generators = None, None, node.generators
    for generator in generators:
        items, rounds = machine.items_of(generator.iter)
        known = items if isinstance(items, Items) and len(items.values) <= 8 else None
        if known is None or len(generators) > 1:
            element: Known = items if not isinstance(items, Items) else UNKNOWN
            if isinstance(items, Items) and items.values:
                element = items.values[0]
                for other in items.values[1:]:
                    element = join(element, other)
            machine.assign(generator.target, _net_among(machine, generator, node) or element)
        for test in generator.ifs if known is None else ():
            machine.eval(test)
    return known, rounds if len(generators) == 1 else None


def _net_among(machine: Machine, generator: ast.comprehension, node: Comprehension) -> Thing | None:
    """`Adam(net.parameters()) for net in nets`: one that stands for all of them."""
    if not isinstance(generator.target, ast.Name):
        return None
    if f"{generator.target.id}.parameters()" not in machine.context.scope.module.text(node):
        return None
    nets = generator.iter
    value = machine.eval(nets) if isinstance(nets, ast.Name | ast.Attribute) else UNKNOWN
    if not isinstance(value, Thing) or not value.key or value.plain:
        return None
    return Thing(f"{value.key}[*]")


def eval_formatted(machine: Machine, node: ast.JoinedStr) -> Known:
    """A text; what is shown in it is read."""
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            used(machine, part.value)
    return PLAIN


def eval_lambda(machine: Machine, node: ast.Lambda) -> Known:
    """A function without a name."""
    return FunctionDef(node, machine.context.scope.module, machine.context.scope.id)


def eval_named(machine: Machine, node: ast.NamedExpr) -> Known:
    """`(x := value)`."""
    value = machine.eval(node.value)
    machine.assign(node.target, value)
    return value


def cuts_each(target: ast.expr, *done: ast.AST) -> bool:
    """`for part in state: part.detach_()`."""
    return any(
        isinstance(inner, ast.Attribute)
        and inner.attr == "detach_"
        and ast.unparse(inner.value) == ast.unparse(target)
        for statement in done
        for inner in ast.walk(statement)
    )


def _gives_places(node: ast.expr) -> bool:
    """`scores.topk(5)`: what it has found comes first, and where comes second."""
    if not isinstance(node, ast.Call):
        return False
    return last_name(node.func) in graphless.WITH_INDICES


def is_meter(value: Known) -> bool:
    """Is it an object of a plain class, that neither is nor trains a net?"""
    if not isinstance(value, Thing) or value.cls is None or value.cls.node.bases:
        return False
    return not value.cls.module.says(OF_NETS, value.cls.node)
