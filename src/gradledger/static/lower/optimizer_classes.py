"""Optimizers and schedulers, made by torch's classes or by the project's own."""

from __future__ import annotations

from gradledger.static.domain.contents import optimizers_in
from gradledger.static.domain.values import ClassDef, Known, Optimizer, Scheduler, Thing
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.arithmetic import keys_of
from gradledger.static.lower.attributes import bases_outside, lineage, method_of
from gradledger.static.models import facts
from gradledger.static.models.schedulers import is_scheduler
from gradledger.static.models.torch_optim import is_optimizer_class
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


MORE_THAN_STEPS = Pattern(
    r"zero_grad|zero_\(|\._?grad[ \t]*=(?!=)|backward\(|\.step\(",
    words=("zero_grad", "zero_(", ".grad", "._grad", "backward(", ".step("),
)
"""Words of optimizers that also clear, deposit, or leave the step to others."""


def make_optimizer(
    machine: Machine, dotted: str, name: str, arguments: Arguments, node: ast.Call
) -> Known:
    """An optimizer of the parameters that it is given."""
    first = arguments.get(0, "params")
    inner = first if isinstance(first, Optimizer) else None
    if inner is None and isinstance(arguments.named.get("optimizer"), Optimizer):
        inner = arguments.named["optimizer"]  # type: ignore[assignment]
    if inner is not None:
        return inner
    keys = keys_of(machine, first) if first is not None else frozenset()
    made = [machine.flow.store.get(key) for key in keys]
    return Optimizer(
        "",
        keys or None,
        machine.at(node),
        closure_loops=name == "LBFGS",
        torchs=dotted.startswith(("torch.optim", "optim.")),
        tensors=bool(made) and all(isinstance(m, Thing) and m.leaf for m in made),
    )


def only_steps(machine: Machine, cls: ClassDef) -> bool:
    """Is it an optimizer of the project's own, which leaves gradients as it finds them?"""
    if not any(map(is_optimizer_class, bases_outside(machine, cls))):
        return False
    return not any(
        owner.module.says(MORE_THAN_STEPS, method)
        for owner in lineage(machine, cls)
        for name, method in owner.module.methods(owner.node).items()
        if name != "__init__"
    )


def schedule_of(
    machine: Machine, cls: ClassDef, arguments: Arguments, node: ast.Call
) -> Known | None:
    """One of a class of the project's that is stepped as one of torch's; None for any other."""
    kind = next(filter(is_scheduler, bases_outside(machine, cls)), None)
    if kind is None or method_of(machine, cls, "step") is not None:
        return None
    return make_scheduler(machine, kind, arguments, node)


def make_scheduler(machine: Machine, kind: str, arguments: Arguments, node: ast.Call) -> Known:
    """A scheduler of the optimizer that it is given."""
    from gradledger.static.lower.window_sizes import counts_updates

    found = tuple(o.name for v in arguments.values() for o in optimizers_in(v) if o.name)
    return Scheduler(
        "",
        tuple(dict.fromkeys(found)),
        by_metric="Plateau" in facts.last(kind),
        counts_updates=counts_updates(node, machine.context.scope.module),
    )
