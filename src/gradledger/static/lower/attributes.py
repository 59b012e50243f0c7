"""What objects, modules and classes have: attributes, methods, and what is inherited."""

from __future__ import annotations

from gradledger.ledger.events import UNKNOWN_WEIGHT
from gradledger.ledger.values import replace
from gradledger.static import budget
from gradledger.static.domain.values import (
    PLAIN,
    UNKNOWN,
    ClassDef,
    Constant,
    External,
    FunctionDef,
    Gradients,
    Imported,
    Known,
    Optimizer,
    Parameters,
    Scheduler,
    Thing,
    is_plain,
)
from gradledger.static.domain.weights import MEAN
from gradledger.static.ir.effects import Reads
from gradledger.static.ir.keys import NO_KEYS, Keys
from gradledger.static.lower.names import defined, in_module, module_scope, names_walked_back
from gradledger.static.lower.noting import note_lent_clear
from gradledger.static.lower.scope_names import file_uses, load
from gradledger.static.lower.spelling import last_name
from gradledger.static.lower.value_names import is_evaluating
from gradledger.static.lower.windows_of_one import attribute_as_option
from gradledger.static.models.facts import GRADIENT, PLAIN_ATTRIBUTES
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

APPLIED = "torch.autograd.Function.apply"
"""What calls a function of the project's that has a backward of its own."""
UNDIFFERENTIATED = Pattern(r"mark_non_differentiable", words=("mark_non_differentiable",))

LABELLED = "a model called with labels"


def eval_attribute(machine: Machine, node: ast.Attribute) -> Known:
    """The value of an attribute."""
    base = machine.eval(node.value)
    return attribute_as_option(machine, node, base, member(machine, base, node.attr, node))


def member(machine: Machine, base: Known, name: str, node: ast.AST) -> Known:
    """What an object has by this name."""
    match base:
        case External(dotted):
            return External(f"{dotted}.{name}")
        case Imported():
            return _module_member(machine, base, name)
        case Thing():
            return _object_member(machine, base, name, node)
        case Optimizer():
            if name == "param_groups":
                return Parameters(base.keys or NO_KEYS, frozenset({base.name}))
            note_lent_clear(machine, base, name, node)
            return base if name in ("optimizer", "optim", "_optimizer") else UNKNOWN
        case Scheduler():
            return _scheduled(machine, base) if name == "optimizer" else UNKNOWN
        case Parameters():
            if name in GRADIENT:
                return Gradients(base)
            if name.startswith("grad_sample"):
                machine.emit(Reads(machine.at(node), *named_by(base)))
                return PLAIN
            return base if name in ("data", "params") else PLAIN
        case Gradients():
            return base if name == "data" else PLAIN
        case FunctionDef() | ClassDef():
            return _class_member(machine, base, name) if isinstance(base, ClassDef) else UNKNOWN
        case _:
            return PLAIN if is_plain(base) else UNKNOWN


def _scheduled(machine: Machine, scheduler: Scheduler) -> Known:
    """The optimizer whose rate it moves; where that is one of several, one of its own."""
    if len(scheduler.optimizers) == 1 and scheduler.optimizers[0] in machine.log.optimizers:
        return machine.log.optimizers[scheduler.optimizers[0]]
    key = scheduler.key or scheduler.name
    if not key:
        return UNKNOWN
    return load(machine, f"{key}.optimizer") or Thing(f"{key}.optimizer")


def _module_member(machine: Machine, module: Imported, name: str) -> Known:
    value = load(machine, f"{module_scope(machine, module.module)}{name}")
    if value is None:
        value = defined(machine, module.module, name)
    if value is None:
        inner = machine.project.submodule(module.module, name)
        if inner is not None:
            return Imported(inner.path, inner)
    return External(f"{module.path}.{name}") if value is None else value


def _object_member(machine: Machine, thing: Thing, name: str, node: ast.AST) -> Known:
    if name in GRADIENT:
        keys = frozenset({thing.key} if thing.key else thing.reach)
        return Gradients(Parameters(keys, leaf=True))
    if name.startswith("grad_sample"):
        machine.emit(Reads(machine.at(node), frozenset({thing.key} if thing.key else thing.reach)))
        return PLAIN
    note_lent_clear(machine, thing, name, node)
    if thing.key:
        value = load(machine, f"{thing.key}.{name}")
        if value is not None:
            return value
    if name == "training" and is_evaluating(machine, thing.key):
        return Constant.of(False)
    if name == "data" and (thing.leaf or not thing.reach) and thing.key:
        return replace(thing, plain=True)
    if name in PLAIN_ATTRIBUTES or (thing.plain and not thing.key):
        return PLAIN
    if name == "module":
        return thing
    if thing.cls is not None:
        method = method_of(machine, thing.cls, name)
        if method is not None:
            bound = replace(method, bound=thing)
            return machine.property_of(bound, thing, name) if is_property(method.node) else bound
        if thing.key and (loss := held_loss(machine, thing.cls, name)) is not None:
            return replace(loss, key=f"{thing.key}.{name}")
    key = f"{thing.key}.{name}" if thing.key else ""
    return Thing(
        key,
        thing.reach,
        thing.plain,
        # What transformers' models call the loss is a mean over the batch.
        MEAN if name == "loss" and thing.built == LABELLED else UNKNOWN_WEIGHT,
        sure=thing.sure and not _may_be_shown_only(machine, thing, name),
        carried=thing.carried,
        local=thing.local,
        depth=thing.depth,
        maybe=thing.maybe,
        passes=thing.passes,
    )


def held_loss(machine: Machine, cls: ClassDef, name: str) -> Thing | None:
    """A loss of torch's that each object of the class is given when it is made."""
    for owner in lineage(machine, cls):
        held = machine.known.held_losses.get(id(owner.node))
        if held is None:
            from gradledger.static.lower.module_losses import held_losses

            held = machine.known.held_losses[id(owner.node)] = held_losses(owner)
        made = held.get(name)
        if made is not None:
            loss = in_module(machine, owner.module, made)
            return loss if isinstance(loss, Thing) else None
    return None


def _may_be_shown_only(machine: Machine, thing: Thing, name: str) -> bool:
    """`out.loss_value`, next to the `out.loss` that is differentiated: as likely a number."""
    if "loss" not in name.lower() or (name == "loss" and thing.built == LABELLED):
        return False
    return name not in names_walked_back(machine)


def _class_member(machine: Machine, cls: ClassDef, name: str) -> Known:
    for owner in lineage(machine, cls):
        for statement in owner.node.body:
            match statement:
                case ast.Assign([ast.Name(id=known)], value) | ast.AnnAssign(
                    ast.Name(id=known), _, ast.expr() as value
                ) if known == name and isinstance(given := _default(value), ast.Constant):
                    return Constant.of(given.value)
    found = method_of(machine, cls, name)
    if found is None and name == "apply" and _is_differentiable(machine, cls):
        return Thing(built=APPLIED)
    return found or Thing(f"{cls.node.name}.{name}")


def _is_differentiable(machine: Machine, cls: ClassDef) -> bool:
    """Is it a function with a backward of its own, and says of nothing that it has none?"""
    functions = any(base.endswith("autograd.Function") for base in bases_outside(machine, cls))
    return functions and not cls.module.says(UNDIFFERENTIATED, cls.node)


def method_of(
    machine: Machine, cls: ClassDef, name: str, *, after: ClassDef | None = None
) -> FunctionDef | None:
    """The method that an object of the class has: its own or a base's."""
    for owner in lineage(machine, cls):
        if after is not None:
            if owner == after:
                after = None
            continue
        found = owner.module.methods(owner.node).get(name)
        if found is not None:
            scope = module_scope(machine, owner.module)
            return FunctionDef(found, owner.module, scope, None, owner)
    return None


def attributes(machine: Machine, cls: ClassDef) -> set[str]:
    """The names of what the class's own code gives to its objects."""
    found: set[str] = set()
    for owner in lineage(machine, cls):
        found |= owner.module.attributes(owner.node)
    return found


def lineage(machine: Machine, cls: ClassDef) -> list[ClassDef]:
    """The class and its bases that are code of the project, nearest first."""
    known = machine.known.lineages.get(id(cls.node))
    if known is None:
        found: dict[int, ClassDef] = {}
        _add_lineage(machine, cls, found, 0)
        known = machine.known.lineages[id(cls.node)] = [*found.values()][: budget.MOST_ANCESTORS]
    return known


def _add_lineage(machine: Machine, cls: ClassDef, found: dict[int, ClassDef], depth: int) -> None:
    """Adds the class and its bases to those found, by their trees. Each is looked at once."""
    known = machine.known.lineages.get(id(cls.node))
    if known is not None:
        for each in known:
            found.setdefault(id(each.node), each)
        return
    found[id(cls.node)] = cls
    for base in cls.node.bases if depth < budget.DEEPEST_LINEAGE else ():
        value = in_module(machine, cls.module, base)
        if isinstance(value, ClassDef) and id(value.node) not in found:
            _add_lineage(machine, value, found, depth + 1)


def bases_outside(machine: Machine, cls: ClassDef) -> list[str]:
    """The dotted names of base classes that are no code of the project."""
    known = machine.known.bases_outside.get(id(cls.node))
    if known is not None:
        return known
    found = machine.known.bases_outside[id(cls.node)] = []
    for owner in lineage(machine, cls):
        for base in owner.node.bases:
            value = in_module(machine, owner.module, base)
            if isinstance(value, External):
                found.append(value.dotted)
            elif not isinstance(value, ClassDef):
                found.append(ast.unparse(base))
    return found


def is_property(node: ast.AST) -> bool:
    """Is this the getter of a property?"""
    decorators = map(last_name, getattr(node, "decorator_list", ()))
    return any(name.endswith("property") for name in decorators)


def named_by(parameters: Parameters) -> tuple[Keys, str, bool]:
    """Keys, or the optimizer whose parameters these are; and whether they are single tensors."""
    if parameters.of and not parameters.keys:
        return NO_KEYS, min(parameters.of), False
    return parameters.keys, "", parameters.leaf


def _default(value: ast.expr) -> ast.expr:
    """Of `field(default=1)`, the 1."""
    match value:
        case ast.Call(func=ast.Name(id="field") | ast.Attribute(attr="field"), keywords=given):
            return next((each.value for each in given if each.arg == "default"), value)
    return value


def is_model(machine: Machine, key: str) -> bool:
    """Is what this key names surely a model? By its class, or by what the file does with it."""
    value = machine.flow.store.get(key)
    if isinstance(value, Thing):
        if value.cls is not None:
            bases = bases_outside(machine, value.cls)
            return any("Module" in base for base in bases)
        if value.built.startswith("torch.nn."):
            return True
    methods = file_uses(machine).of(key.rpartition(".")[2].rpartition(":")[2])
    return bool(methods & {"parameters", "named_parameters", "eval", "no_sync"})


def guard(machine: Machine, parameters: Parameters) -> None:
    """Notes that these were asked whether they have a gradient.

    What is asked of a single parameter in a loop over parameters holds until the loop ends.
    """
    if machine.context.in_parameters:
        guarded = machine.context.guarded | parameters.keys
        machine.context = replace(machine.context, guarded=guarded)
    else:
        machine.flow = replace(machine.flow, guarded=machine.flow.guarded | parameters.keys)
