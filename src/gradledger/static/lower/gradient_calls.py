"""What is done to parameters and to their gradients, by hand or by torch."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from gradledger.static.domain.values import (
    PLAIN,
    Constant,
    Gradients,
    Known,
    Parameters,
    Thing,
)
from gradledger.static.ir.effects import Clears, Clips, Edits, Reads
from gradledger.static.ir.keys import NO_KEYS, within
from gradledger.static.ir.notes import GradientHook, GradientsCopied
from gradledger.static.lower.attributes import named_by
from gradledger.static.lower.gradient_functions import note_units, spend_by_hand
from gradledger.static.lower.noting import note
from gradledger.static.lower.return_values import quietly
from gradledger.static.lower.unknown_calls import arguments_of, freeze, put_back, reads_gradient
from gradledger.static.models import graphless
from gradledger.static.models.facts import GRADIENT
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

SCALE_MATTERS_NOT = Pattern(r"get_scale|isfinite|isnan|isinf")
"""Words around a norm that is right in any unit."""


_KEY_PARTS = Pattern(r"[.\[]")

NORMS = frozenset(
    [
        *("torch.norm", "torch.linalg.norm", "torch.linalg.vector_norm", "torch._foreach_norm"),
        *("torch.nn.utils.get_total_norm", "torch.nn.utils.clip_grad.get_total_norm"),
    ]
)
"""Functions that read the norm of the gradients that they are given."""


CLAMPS = frozenset(["clamp_", "clip_", "clamp_min_", "clamp_max_"])
"""Methods that clip what they are called on."""


def parameters_method(machine: Machine, parameters: Parameters, name: str, node: ast.Call) -> Known:
    """Calls a method of parameters."""
    arguments = arguments_of(machine, node)
    if name.startswith("register_post_accumulate"):
        machine.log.hooked = True
        return PLAIN
    if name == "register_hook":
        note(machine, GradientHook, machine.at(node), parameters.keys, parameters.of)
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


def gradients_method(machine: Machine, gradients: Gradients, name: str, node: ast.Call) -> Known:
    """Calls a method of gradients."""
    arguments = arguments_of(machine, node)
    keys, optimizer, leaf = named_by(gradients.of)
    at = machine.at(node)
    first = arguments.get(0, "")
    if name == "zero_" or (name == "fill_" and first in (Constant.of(0), Constant.of(0.0))):
        needed = _surely_made(machine, keys)
        if machine.context.partly or gradients.part:
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
    elif name in CLAMPS and not (leaf or gradients.part or machine.context.partly):
        machine.emit(Clips(at, keys, optimizer, leaf))
    elif name.endswith("_") and not name.endswith("__"):
        if name == "copy_" and any(map(partial(reads_gradient, machine), node.args)):
            note_copied(machine, gradients.of, node.args, node)
        machine.emit(Edits(at, keys, optimizer, leaf, "change"))
    elif name in ("data", "detach", "requires_grad_"):
        return gradients
    else:
        if name == "norm" and not (
            _whatever_the_scale(machine, node) or _divides_them(machine, node)
        ):
            note_units(machine, node)
            machine.emit(Clips(at, keys, optimizer, leaf, changes=False))
        machine.emit(Reads(at, keys, optimizer, leaf, needed=_surely_made(machine, keys)))
        return PLAIN
    return gradients


def note_copied(machine: Machine, to: Parameters, given: Iterable[ast.expr], node: ast.AST) -> None:
    """Notes that gradients of these parameters are made of others, as far as these are seen."""
    read = [
        quietly(machine, partial(machine.eval, inner))
        for expression in given
        for inner in ast.walk(expression)
        if isinstance(inner, ast.Attribute) and inner.attr in GRADIENT
    ]
    sources = [value.of for value in read if isinstance(value, Gradients)]
    both = [to, *sources]
    if len(sources) < len(read) or not all(p.keys or p.of for p in both):
        note(machine, GradientsCopied, machine.at(node))
        return
    keys = NO_KEYS.union(*(p.keys for p in both))
    optimizers = NO_KEYS.union(*(p.of for p in both))
    note(machine, GradientsCopied, machine.at(node), keys, optimizers)


def gradient_norm(machine: Machine, node: ast.Call) -> Known | None:
    """`torch.norm(p.grad, 2)`: the same as `p.grad.norm(2)`; None for what is no gradient."""
    held = quietly(machine, lambda: machine.eval(node.args[0]))
    return gradients_method(machine, held, "norm", node) if isinstance(held, Gradients) else None


def _whatever_the_scale(machine: Machine, node: ast.AST) -> bool:
    """Is it divided by the scale, or asked only whether it is finite?"""
    return bool(SCALE_MATTERS_NOT.search(machine.context.scope.module.text(node)))


def _divides_them(machine: Machine, norm: ast.AST) -> bool:
    """Is a gradient divided by it? The direction that this gives is the same in any unit."""
    around = machine.context.scope.node or machine.context.scope.module.tree
    names = {
        target.id
        for given in ast.walk(around)
        if isinstance(given, ast.Assign) and _spans(given, norm)
        if any(n is norm for n in ast.walk(given.value))
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


def _spans(statement: ast.stmt, node: ast.AST) -> bool:
    """Whether the node can be inside of the statement, by its line."""
    line = getattr(node, "lineno", statement.lineno)
    return statement.lineno <= line <= (statement.end_lineno or line)


def _surely_made(machine: Machine, keys: frozenset[str]) -> bool:
    """Does the code make all of these itself, and not ask whether they have a gradient?"""
    guarded = machine.flow.guarded | machine.context.guarded
    if any(within(key, k) or within(k, key) for key in keys for k in guarded):
        return False
    for key in keys:
        made = machine.flow.store.get(key) or machine.flow.store.get(_KEY_PARTS.split(key)[0])
        if not isinstance(made, Thing) or not (made.leaf or made.built or made.cls):
            return False
    return bool(keys)
