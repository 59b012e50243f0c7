"""What is done to parameters and to their gradients, by hand or by torch."""

from __future__ import annotations

from functools import partial

from gradledger.ledger.events import Keep
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.domain.scopes import hands_on
from gradledger.static.domain.values import (
    NO_PLACES,
    PLAIN,
    UNKNOWN,
    Constant,
    Gradients,
    Items,
    Known,
    Optimizer,
    Parameters,
    Places,
    Thing,
    is_plain,
    kept_in,
    key_of,
)
from gradledger.static.ir.effects import Clears, Clips, Edits, Excuses, Reads, Spends
from gradledger.static.ir.keys import NO_KEYS, within
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.arithmetic import computed, keys_of
from gradledger.static.lower.attributes import named_by
from gradledger.static.lower.expressions import release
from gradledger.static.lower.names import is_of_this_batch, names_walked_back
from gradledger.static.lower.output_parts import may_be_a_number
from gradledger.static.lower.return_values import quietly
from gradledger.static.lower.spelling import last_name
from gradledger.static.lower.unknown_calls import arguments_of, freeze, put_back, reads_gradient
from gradledger.static.lower.value_names import register
from gradledger.static.models import graphless
from gradledger.static.models.facts import OF_ONE_COPY
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import CUTS, NO_GRADIENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

SCALE_MATTERS_NOT = Pattern(r"get_scale|isfinite|isnan|isinf")
"""Words around a norm that is right in any unit."""

TIMES_THE_SCALE = Pattern(r"[*/] *[\w.]+\.get_scale\(|get_scale\( *\) *\*", words=("get_scale(",))
"""Words of code that puts a limit into the unit of scaled gradients, or a norm out of it."""

INFINITE = Pattern(r"\binf\b")
_KEY_PARTS = Pattern(r"[.\[]")

NORMS = frozenset(
    [
        *("torch.norm", "torch.linalg.norm", "torch.linalg.vector_norm", "torch._foreach_norm"),
        *("torch.nn.utils.get_total_norm", "torch.nn.utils.clip_grad.get_total_norm"),
    ]
)
"""Functions that read the norm of the gradients that they are given."""

HUGE = 1e6
"""A norm that no gradient has: who clips to it wants to know the norm."""


def parameters_method(machine: Machine, parameters: Parameters, name: str, node: ast.Call) -> Known:
    """Calls a method of parameters."""
    arguments = arguments_of(machine, node)
    if name.startswith("register_post_accumulate"):
        machine.hooked = True
        return PLAIN
    if name == "register_hook":  # which divides, as likely as not
        machine.doubted |= {"GL301", "GL302"}
        return PLAIN
    if name == "requires_grad_":
        freeze(machine, parameters.keys, arguments.get(0, "requires_grad") or Constant.of(True))
        return parameters
    if name in ("backward",):
        return PLAIN
    if name.endswith("_") and not name.endswith("__"):
        if reads_gradient(machine, node):
            spend_by_hand(machine, node, parameters)
        elif name == "copy_":
            put_back(machine, parameters.keys, node)
        return parameters
    if name in ("extend", "append", "items", "values", "named_parameters", "parameters"):
        return parameters
    of_data = ast.unparse(node.func).endswith(f".data.{name}")
    plain = of_data or name in graphless.DETACHING
    return PLAIN if plain else Thing(reach=parameters.keys, leaf=True)


def spend_by_hand(machine: Machine, node: ast.AST, parameters: Parameters) -> None:
    """A step without an optimizer: whosever they are, that backward was of use."""
    machine.emit(Spends(machine.at(node), *named_by(parameters)))
    machine.emit(Excuses(machine.at(node)))


def gradients_method(machine: Machine, gradients: Gradients, name: str, node: ast.Call) -> Known:
    """Calls a method of gradients."""
    arguments = arguments_of(machine, node)
    keys, optimizer, leaf = named_by(gradients.of)
    at = machine.at(node)
    first = arguments.get(0, "")
    if name == "zero_" or (name == "fill_" and first in (Constant.of(0), Constant.of(0.0))):
        needed = _surely_made(machine, keys)
        if machine.partly or gradients.part:
            machine.emit(Edits(at, keys, optimizer, leaf, "change"))
            return gradients
        machine.emit(Clears(at, keys, optimizer, leaf, to_none=False, needed=needed))
    elif name == "detach_":
        pass
    elif name in ("div_", "mul_"):
        number = first.value if isinstance(first, Constant) else None
        factor = None
        if isinstance(number, int | float) and number:
            factor = 1 / number if name == "div_" else float(number)
        machine.emit(Edits(at, keys, optimizer, leaf, "scale", factor))
    elif name.endswith("_") and not name.endswith("__"):
        if name == "copy_" and any(map(partial(reads_gradient, machine), node.args)):
            machine.doubted |= OF_ONE_COPY
        machine.emit(Edits(at, keys, optimizer, leaf, "change"))
    elif name in ("data", "detach", "requires_grad_"):
        return gradients
    else:
        if name == "norm" and not (
            _whatever_the_scale(machine, node) or _divides_them(machine, node)
        ):
            _doubt_units(machine)
            machine.emit(Clips(at, keys, optimizer, leaf, changes=False))
        machine.emit(Reads(at, keys, optimizer, leaf, needed=_surely_made(machine, keys)))
        return PLAIN
    return gradients


def gradient_norm(machine: Machine, node: ast.Call) -> Known | None:
    """`torch.norm(p.grad, 2)`: the same as `p.grad.norm(2)`; None for what is no gradient."""
    held = quietly(machine, lambda: machine.eval(node.args[0]))
    return gradients_method(machine, held, "norm", node) if isinstance(held, Gradients) else None


def _whatever_the_scale(machine: Machine, node: ast.AST) -> bool:
    """Is it divided by the scale, or asked only whether it is finite?"""
    return bool(SCALE_MATTERS_NOT.search(machine.scope.module.text(node)))


def _divides_them(machine: Machine, norm: ast.AST) -> bool:
    """Is a gradient divided by it? The direction that this gives is the same in any unit."""
    around = machine.scope.node or machine.scope.module.tree
    names = {
        target.id
        for given in ast.walk(around)
        if isinstance(given, ast.Assign) and any(n is norm for n in ast.walk(given.value))
        for target in given.targets
        if isinstance(target, ast.Name)
    }
    for division in ast.walk(around):
        match division:
            case ast.BinOp(left, ast.Div(), right) if "grad" in ast.unparse(left):
                by = list(ast.walk(right))
                if any(n is norm or (isinstance(n, ast.Name) and n.id in names) for n in by):
                    return True
    return False


def _doubt_units(machine: Machine) -> None:
    """Where the file puts things into the unit of scaled gradients, nobody knows which."""
    if machine.scope.module.says_anywhere(TIMES_THE_SCALE):
        machine.doubted.add("GL401")


def _surely_made(machine: Machine, keys: frozenset[str]) -> bool:
    """Does the code make all of these itself, and not ask whether they have a gradient?"""
    if machine.guarded:
        return False
    for key in keys:
        made = machine.store.get(key) or machine.store.get(_KEY_PARTS.split(key)[0])
        if not isinstance(made, Thing) or not (made.leaf or made.built or made.cls):
            return False
    return bool(keys)


def foreach(machine: Machine, name: str, node: ast.Call) -> Known:
    """`torch._foreach_zero_(gradients)`: what is done to each, done to all at once."""
    first = machine.eval(node.args[0])
    for argument in node.args[1:]:
        machine.eval(argument)
    if isinstance(first, Gradients):
        keys, optimizer, leaf = named_by(first.of)
        if name == "_foreach_zero_":
            machine.emit(Clears(machine.at(node), keys, optimizer, leaf, to_none=False))
        else:
            machine.emit(Edits(machine.at(node), keys, optimizer, leaf, "change"))
    elif isinstance(first, Parameters) and reads_gradient(machine, node):
        spend_by_hand(machine, node, first)
    return PLAIN


def clip(machine: Machine, arguments: Arguments, node: ast.Call) -> None:
    """Clips gradients: those of parameters, or of an optimizer."""
    changes = not _only_measures(machine, arguments, node)
    _doubt_units(machine)
    for value in arguments.positional[:2]:
        if isinstance(value, Parameters) and value.of and not value.keys:
            machine.emit(Clips(machine.at(node), optimizer=min(value.of), changes=changes))
            return
        if isinstance(value, Optimizer):
            machine.emit(Clips(machine.at(node), optimizer=value.name, changes=changes))
            return
    first = arguments.get(0, "parameters")
    keys = keys_of(machine, first) if first is not None else NO_KEYS
    machine.emit(Clips(machine.at(node), keys, changes=changes))


def _only_measures(machine: Machine, arguments: Arguments, node: ast.Call) -> bool:
    """`clip_grad_norm_(parameters, float("inf"))`: for the norm that it gives."""
    limit = arguments.get(1, "max_norm")
    if isinstance(limit, Constant) and isinstance(limit.value, int | float):
        return limit.value >= HUGE
    given = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "max_norm")]
    return any(INFINITE.search(ast.unparse(value)) for value in given)


def items_method(machine: Machine, items: Items, name: str, node: ast.Call) -> Known:
    """Calls a method of a list or dict."""
    arguments = arguments_of(machine, node)
    if name in ("append", "add") and arguments.positional:
        put_into(machine, node, arguments.positional[0])
        return PLAIN
    if name == "extend" and arguments.positional:
        put_into(machine, node, arguments.positional[0])
        return PLAIN
    if name == "clear":
        release(machine, kept_in(items), node)
        return PLAIN
    if name in ("values", "copy"):
        return Items(items.values)
    if name == "items":
        pairs = zip(items.names, items.values, strict=False)
        return Items(tuple(Items((key_of(name), value)) for name, value in pairs))
    if name == "keys":
        return PLAIN
    if name in ("get", "pop") and items.names:
        key = arguments.get(0, "")
        if isinstance(key, Constant) and (value := items.at(key.value)) is not None:
            return value
    if name == "pop" and items.values:
        return items.values[-1]
    return UNKNOWN


def put_into(machine: Machine, node: ast.Call, value: Known) -> None:
    """A list gets one more: parameters, optimizers, losses with their graph."""
    assert isinstance(node.func, ast.Attribute)
    target = node.func.value
    held = machine.eval(target)
    values = held.values if isinstance(held, Items) else ()
    kept = (
        NO_PLACES
        if may_be_a_number(machine, node.args[0])
        else _keep_loss_in(machine, value, node, target)
    )
    if kept:
        value = replace(value, kept=value.kept | kept) if isinstance(value, Thing) else value
    if isinstance(held, Thing) and isinstance(value, Thing):
        # Nobody knows what was in it, nor which of it will be taken out.
        made = computed(machine, held, value, sure=False)
        maybe = made.maybe | made.reach
        machine.rebind(target, replace(made, key=held.key, reach=NO_KEYS, maybe=maybe))
    elif isinstance(value, Optimizer) and not value.name:
        _put_optimizer(machine, target, held, value)
    elif len(values) < 8 and value not in values:
        if isinstance(value, Thing):  # it stays there when the next round comes
            value = replace(value, passes=NO_PLACES)
        machine.rebind(target, Items((*values, value)))


def _put_optimizer(machine: Machine, target: ast.expr, held: Known, new: Optimizer) -> None:
    """`optimizers.append(Adam(…))`: in a loop, one stands for all that it makes."""
    shown = ast.unparse(target)
    if machine.loops and held == Items(()):
        machine.rebind(target, register(machine, replace(new, name=shown)))
    elif isinstance(held, Items) and len(held.values) < 8:
        named = register(machine, replace(new, name=f"{shown}[{len(held.values)}]"))
        machine.rebind(target, Items((*held.values, named)))


def _keep_loss_in(machine: Machine, value: Known, node: ast.AST, target: ast.expr) -> Places:
    if not machine.loops or not isinstance(value, Thing) or not value.sure or value.plain:
        return NO_PLACES
    name = value.key.rpartition(".")[2].rpartition(":")[2]
    if name not in names_walked_back(machine) and "loss" not in name.lower():
        return NO_PLACES  # tensors are kept for many reasons; losses for their value alone
    if value.key and any(
        name.startswith(value.key + "[") and is_plain(held) for name, held in machine.store.items()
    ):
        return NO_PLACES  # a part of it was detached
    if is_of_this_batch(machine, target):
        return NO_PLACES
    holder = last_name(target)
    if holder and f"{holder}.pop" in machine.scope.module.source:
        return NO_PLACES  # what is put into it is taken out again
    return frozenset({keep_loss(machine, value, node)})


def keep_loss(machine: Machine, value: Thing, node: ast.AST) -> Place:
    """A loss is put there with its graph."""
    at = machine.at(node)
    machine.emit(Keep(at, "loss"))
    if _is_surely_recorded(machine, value):
        machine.recorded[at] = value, machine.scope, machine.loops[-1].node
    return at


def _is_surely_recorded(machine: Machine, value: Thing) -> bool:
    """Are all nets that it was made by in sight, and is nothing that may switch them off?"""
    if machine.grad_in_doubt or value.by_name or not (value.sure and value.reach):
        return False
    loop = machine.loops[-1]
    if value.depth != len(machine.loops) or not loop.is_of_all_data(machine.loops[:-1]):
        return False
    if loop.node is None or hands_on(loop.node):
        return False
    frozen = any(within(net, key) for net in value.reach for key in machine.frozen)
    return not frozen and not any(
        says_of(machine, net, words) for net in value.reach for words in (CUTS, NO_GRADIENTS)
    )


def says_of(machine: Machine, key: str, words: Pattern) -> bool:
    """Is it a model of the project's own, whose class says one of these words?"""
    model = machine.store.get(key)
    cls = model.cls if isinstance(model, Thing) else None
    return cls is not None and cls.module.says(words, cls.node)
