"""Names that nobody has assigned, which are optimizers, scalers and schedulers by their use."""

from __future__ import annotations

from gradledger.ledger.values import replace
from gradledger.static.domain.values import NONE, Known, Optimizer, Scaler, Scheduler, Thing
from gradledger.static.lower.arithmetic import keys_of
from gradledger.static.lower.attributes import is_model
from gradledger.static.lower.scope_names import file_uses
from gradledger.static.lower.spelling import last_name
from gradledger.static.lower.value_names import register
from gradledger.static.models import facts
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


OF_SCOPES = Pattern(r"\w+#\d+:?")

ROLE_METHODS = frozenset(
    ["step", "zero_grad", "scale", "unscale_", "update", "first_step", "second_step"]
)


OF_RATES = frozenset({"scheduler", "lr_scheduler", "sched", "lr_sched", "scheduler_lr"})
"""What people call the schedule of a rate, where the function has one optimizer."""


def with_role(machine: Machine, base: Known, method: str, node: ast.Call) -> Known:
    """A thing from outside, taken for what its name and its use in the file say it is."""
    if base == NONE and method in ("step", "zero_grad"):
        assert isinstance(node.func, ast.Attribute)
        return given_later(machine, node.func.value) or base
    if not isinstance(base, Thing) or not base.key or base.plain:
        return base
    if base.cls is not None or base.own or method in facts.OF_STRINGS:
        return base
    assert isinstance(node.func, ast.Attribute)
    target = node.func.value
    if base.built.startswith("deepspeed") or grad_fn_like(machine, base):
        return base
    role = file_uses(machine).role(_terminal(target) or base.key) or file_uses(machine).role(
        base.key
    )
    if role == "optimizer" and method in facts.OF_DICTS:
        return base
    made: Known
    match role:
        case "optimizer" if method in ROLE_METHODS or file_uses(machine).steps(_terminal(target)):
            keys = keys_of(machine, base) if base.reach else None
            keys = frozenset(k for k in keys or () if is_model(machine, k)) or None
            made = Optimizer("", keys, machine.at(node), outside=True)
        case "scaler" if method in ("scale", "step", "update", "unscale_"):
            made = Scaler("", enabled=not _is_accelerates(machine, base.key), is_option=True)
        case "scheduler" if method == "step" and moves_a_rate(node):
            # By its name alone: there are schedules of weights, of noise, of teachers.
            known = _given_beside(machine, node) or tuple(machine.log.optimizers)
            perhaps = len(known) != 1 or not _is_of_rates(machine, base, target)
            made = Scheduler("", known, counts_updates=False, perhaps=perhaps)
        case _:
            return base
    return bind_role(machine, base.key, made, target)


def _is_of_rates(machine: Machine, scheduler: Thing, spelled: ast.expr) -> bool:
    """Is it the schedule of a rate that a function is given, and has the file none of its own?"""
    name, scope = _terminal(spelled), machine.context.scope
    if name.lower() not in OF_RATES or scheduler.built or scheduler.key != f"{scope.id}{name}":
        return False
    classes = (d for d in scope.module.definitions.values() if isinstance(d, ast.ClassDef))
    return not any("step" in scope.module.methods(each) for each in classes)


def _given_beside(machine: Machine, node: ast.Call) -> tuple[str, ...]:
    """The one optimizer that the function is given."""
    function = machine.context.scope.node
    if not isinstance(function, ast.FunctionDef):
        return ()
    names = [a.arg for a in function.args.args if file_uses(machine).role(a.arg) == "optimizer"]
    if len(names) != 1:
        return ()
    name = ast.copy_location(ast.Name(names[0], ast.Load()), node)
    value = machine.eval(name)
    if isinstance(value, Optimizer):
        return (value.name,)
    if not isinstance(value, Thing) or not value.key or value.plain or value.cls is not None:
        return ()
    made = bind_role(machine, value.key, Optimizer("", None, machine.at(node), outside=True), name)
    return (made.name,) if isinstance(made, Optimizer) else ()


def given_later(machine: Machine, spelled: ast.expr) -> Optimizer | None:
    """An optimizer that is None so far, beside another: who steps it has given it one since."""
    if file_uses(machine).role(_terminal(spelled)) != "optimizer":
        return None
    match spelled:
        case ast.Name():
            beside = machine.context.scope.id
        case ast.Attribute(value=base):
            owner = machine.eval(base)
            beside = f"{owner.key}." if isinstance(owner, Thing) and owner.key else ""
        case _:
            return None
    if not beside or not any(
        isinstance(value, Optimizer)
        for name, value in machine.flow.store.items()
        if name.startswith(beside)
    ):
        return None  # of one alone: it is not stepped, and nothing is trained
    name = ast.unparse(spelled)
    made = register(machine, Optimizer(name, None, machine.at(spelled), outside=True))
    machine.rebind(spelled, made)
    return made


def _is_accelerates(machine: Machine, key: str) -> bool:
    """Is it a scaler that Accelerate keeps? Its own optimizers scale, step and update then."""
    owner = key.rpartition(".")[0]
    held = machine.flow.store.get(owner)
    return is_accelerator(held if isinstance(held, Thing) else Thing(owner))


def grad_fn_like(machine: Machine, thing: Thing) -> bool:
    """Is it surely a tensor?"""
    return thing.sure and bool(thing.reach)


def bind_role(machine: Machine, key: str, made: Known, target: ast.expr) -> Known:
    """Remembers what a thing from outside turned out to be."""
    shown = OF_SCOPES.sub("", key) or ast.unparse(target)
    if isinstance(made, Optimizer):
        made = register(machine, replace(made, name=shown, key=key))
    elif isinstance(made, Scaler | Scheduler):
        made = replace(made, name=shown, key=key)
    machine.set(key, made)
    machine.rebind(target, made)
    return made


def is_accelerator(thing: Thing) -> bool:
    """Is it an Accelerator, by what made it or by its name?"""
    name = thing.key.rpartition(".")[2].rpartition(":")[2]
    return thing.built.startswith("accelerate.") or name.endswith("accelerator")


def _terminal(node: ast.expr) -> str:
    """The name that a person would call it by."""
    return _terminal(node.value) if isinstance(node, ast.Subscript) else last_name(node)


def moves_a_rate(node: ast.Call) -> bool:
    """Is it the step of a learning-rate scheduler, and not of a diffusion process?"""
    known = {"epoch", "metrics", None}
    return len(node.args) <= 1 and all(k.arg in known for k in node.keywords)
