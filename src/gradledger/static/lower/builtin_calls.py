"""Collections made by builtins: lists, dicts, chains, and what is in them."""

from __future__ import annotations

from functools import partial

from gradledger.static.domain.values import (
    EVERY_KEY,
    LENGTH,
    ClassDef,
    Constant,
    External,
    FunctionDef,
    Items,
    Known,
    Optimizer,
    Parameters,
    Thing,
    reach_of,
)
from gradledger.static.ir.keys import NO_KEYS
from gradledger.static.lower import loader_sizes
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.arithmetic import keys_of, used
from gradledger.static.lower.attributes import guard, member
from gradledger.static.lower.expressions import is_meter
from gradledger.static.lower.unknown_calls import hand_over
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


PASSING = frozenset(["list", "tuple", "iter", "next", "sorted", "set", "reversed", "filter"])

CHAINING = frozenset(["chain", "from_iterable"])


def collected(machine: Machine, name: str, node: ast.Call) -> Known | None:
    """`len(x)`, `dict(params=x, lr=0.1)`, and `dict(model.named_parameters())`."""
    if node.keywords and not node.args:
        values = tuple(used(machine, keyword.value) for keyword in node.keywords)
        return Items(values, tuple(keyword.arg for keyword in node.keywords))
    if len(node.args) != 1:
        return None
    given = used(machine, node.args[0])
    if name == "len":
        shape = loader_sizes.shape_of(given)
        return Constant.of(shape[0]) if shape else LENGTH
    return given if isinstance(given, Parameters) else None


def made_on_demand(machine: Machine, node: ast.Call) -> Items | None:
    """`defaultdict(Meter)`: one of them stands for all."""
    (maker,) = node.args
    if isinstance(maker, ast.Lambda):
        made = machine.eval(maker.body)
    elif isinstance(cls := machine.eval(maker), ClassDef):
        made = machine.call(cls, ast.copy_location(ast.Call(maker, [], []), node))
    else:
        return None
    return Items((made,), (EVERY_KEY,)) if is_meter(made) else None


def by_name(machine: Machine, node: ast.Call) -> Known:
    """`getattr(torch.optim, name)`: some class of that module."""
    base, name = machine.eval(node.args[0]), machine.eval(node.args[1])
    if isinstance(name, Constant) and isinstance(name.value, str):
        found = member(machine, base, name.value, node)
        if isinstance(found, Thing) and len(node.args) > 2:
            return Thing()
        return found
    if isinstance(base, Optimizer):
        hand_over(machine, base.name, node, "a method that is chosen by name")
    if isinstance(base, External):
        return External(f"{base.dotted}.Chosen")
    return Thing(reach=reach_of(base))


def passed_on(machine: Machine, name: str, arguments: Arguments) -> Known:
    """`list(parameters)`, `filter(f, parameters)`, `chain(a, b)`: the same in another dress."""
    test = arguments.get(0, "")
    values = arguments.positional[1:] if name in ("filter", "map") else arguments.positional
    values = tuple(
        inner
        for value in values
        for inner in (value.values if isinstance(value, Items) else (value,))
    )
    if any(isinstance(v, Parameters) for v in values):
        found = [v for v in values if isinstance(v, Parameters)]
        asked = test.module.text(test.node) if isinstance(test, FunctionDef) else ""
        if name == "filter" and ".grad" in asked:  # those that have one
            for parameters in found:
                guard(machine, parameters)
        return Parameters(
            NO_KEYS.union(*map(partial(keys_of, machine), values)),
            frozenset().union(*(p.of for p in found)),
        )
    first = arguments.positional[-1] if arguments.positional else Items(())
    if isinstance(first, Thing) and first.plain:
        return first
    return first if len(arguments.positional) < 2 or name == "filter" else Items(values)
