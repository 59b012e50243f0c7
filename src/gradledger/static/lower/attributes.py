"""What objects, modules and classes have: attributes, methods, and what is inherited."""

from __future__ import annotations

from gradledger.ledger.events import UNKNOWN_WEIGHT
from gradledger.ledger.values import replace
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
from gradledger.static.ir.notes import ZeroGradEscapes
from gradledger.static.lower.names import Names
from gradledger.static.lower.spelling import last_name
from gradledger.static.models.facts import GRADIENT, PLAIN_ATTRIBUTES
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

APPLIED = "torch.autograd.Function.apply"
"""What calls a function of the project's that has a backward of its own."""
UNDIFFERENTIATED = Pattern(r"mark_non_differentiable", words=("mark_non_differentiable",))

LABELLED = "a model called with labels"


class Members(Names):
    """Members of whatever has any."""

    def attribute(self, node: ast.Attribute) -> Known:
        """The value of an attribute."""
        return self.member(self.eval(node.value), node.attr, node)

    def member(self, base: Known, name: str, node: ast.AST) -> Known:
        """What an object has by this name."""
        match base:
            case External(dotted):
                return External(f"{dotted}.{name}")
            case Imported():
                return self._of_module(base, name)
            case Thing():
                return self._of_thing(base, name, node)
            case Optimizer():
                if name == "param_groups":
                    return Parameters(base.keys or NO_KEYS, frozenset({base.name}))
                self._lend(base, name, node)
                return base if name in ("optimizer", "optim", "_optimizer") else UNKNOWN
            case Scheduler():
                return self._scheduled(base) if name == "optimizer" else UNKNOWN
            case Parameters():
                if name in GRADIENT:
                    return Gradients(base)
                if name.startswith("grad_sample"):
                    self.emit(Reads(self.at(node), *named_by(base)))
                    return PLAIN
                return base if name in ("data", "params") else PLAIN
            case Gradients():
                return base if name == "data" else PLAIN
            case FunctionDef() | ClassDef():
                return self._of_class(base, name) if isinstance(base, ClassDef) else UNKNOWN
            case _:
                return PLAIN if is_plain(base) else UNKNOWN

    def _scheduled(self, scheduler: Scheduler) -> Known:
        """The optimizer whose rate it moves; where that is one of several, one of its own."""
        if len(scheduler.optimizers) == 1 and scheduler.optimizers[0] in self.optimizers:
            return self.optimizers[scheduler.optimizers[0]]
        key = scheduler.key or scheduler.name
        if not key:
            return UNKNOWN
        return self.load(f"{key}.optimizer") or Thing(f"{key}.optimizer")

    def _of_module(self, module: Imported, name: str) -> Known:
        value = self.load(f"{self.module_scope(module.module)}{name}")
        if value is None:
            value = self.defined(module.module, name)
        if value is None:
            inner = self.project.submodule(module.module, name)
            if inner is not None:
                return Imported(inner.path, inner)
        return External(f"{module.path}.{name}") if value is None else value

    def _of_thing(self, thing: Thing, name: str, node: ast.AST) -> Known:
        if name in GRADIENT:
            keys = frozenset({thing.key} if thing.key else thing.reach)
            return Gradients(Parameters(keys, leaf=True))
        if name.startswith("grad_sample"):
            self.emit(Reads(self.at(node), frozenset({thing.key} if thing.key else thing.reach)))
            return PLAIN
        self._lend(thing, name, node)
        if thing.key:
            value = self.load(f"{thing.key}.{name}")
            if value is not None:
                return value
        if name == "training" and self.is_evaluating(thing.key):
            return Constant.of(False)
        if name == "data" and (thing.leaf or not thing.reach) and thing.key:
            return replace(thing, plain=True)
        if name in PLAIN_ATTRIBUTES or (thing.plain and not thing.key):
            return PLAIN
        if name == "module":
            return thing
        if thing.cls is not None:
            method = self.method(thing.cls, name)
            if method is not None:
                bound = replace(method, bound=thing)
                return self.property_of(bound, thing, name) if is_property(method.node) else bound
            if thing.key and (loss := self.held_loss(thing.cls, name)) is not None:
                return replace(loss, key=f"{thing.key}.{name}")
        key = f"{thing.key}.{name}" if thing.key else ""
        return Thing(
            key,
            thing.reach,
            thing.plain,
            # What transformers' models call the loss is a mean over the batch.
            MEAN if name == "loss" and thing.built == LABELLED else UNKNOWN_WEIGHT,
            sure=thing.sure and not self._may_be_shown_only(thing, name),
            carried=thing.carried,
            local=thing.local,
            depth=thing.depth,
            maybe=thing.maybe,
            passes=thing.passes,
        )

    def held_loss(self, cls: ClassDef, name: str) -> Thing | None:
        """A loss of torch's that each object of the class is given when it is made."""
        for owner in self.lineage(cls):
            held = self.known.held_losses.get(id(owner.node))
            if held is None:
                from gradledger.static.lower.module_losses import held_losses

                held = self.known.held_losses[id(owner.node)] = held_losses(owner)
            made = held.get(name)
            if made is not None:
                loss = self.in_module(owner.module, made)
                return loss if isinstance(loss, Thing) else None
        return None

    def _may_be_shown_only(self, thing: Thing, name: str) -> bool:
        """`out.loss_value`, next to the `out.loss` that is differentiated: as likely a number."""
        if "loss" not in name.lower() or (name == "loss" and thing.built == LABELLED):
            return False
        return name not in self.backwarded()

    def backwarded(self) -> set[str]:
        """Names on which this function calls backward."""
        raise NotImplementedError

    def _lend(self, base: Thing | Optimizer, name: str, node: ast.AST) -> None:
        """`zero = optimizer.zero_grad`: whoever has it clears, under another name."""
        if name != "zero_grad":
            return
        if isinstance(base, Optimizer):
            self.note(ZeroGradEscapes, self.at(node), optimizers=frozenset({base.name}))
        else:
            keys = base.reach | base.maybe | ({base.key} if base.key else NO_KEYS)
            self.note(ZeroGradEscapes, self.at(node), keys)

    def property_of(self, method: FunctionDef, thing: Thing, name: str) -> Known:
        """The value of a property."""
        raise NotImplementedError

    def _of_class(self, cls: ClassDef, name: str) -> Known:
        for owner in self.lineage(cls):
            for statement in owner.node.body:
                match statement:
                    case ast.Assign([ast.Name(id=known)], value) if known == name:
                        given = _default(value)
                    case ast.AnnAssign(ast.Name(id=known), _, ast.expr() as value) if known == name:
                        given = _default(value)
                    case _:
                        continue
                if isinstance(given, ast.Constant):
                    return Constant.of(given.value)
        found = self.method(cls, name)
        if found is None and name == "apply" and self._is_differentiable(cls):
            return Thing(built=APPLIED)
        return found or Thing(f"{cls.node.name}.{name}")

    def _is_differentiable(self, cls: ClassDef) -> bool:
        """Is it a function with a backward of its own, and says of nothing that it has none?"""
        functions = any(base.endswith("autograd.Function") for base in self.bases_outside(cls))
        return functions and not cls.module.says(UNDIFFERENTIATED, cls.node)

    def method(
        self, cls: ClassDef, name: str, *, after: ClassDef | None = None
    ) -> FunctionDef | None:
        """The method that an object of the class has: its own or a base's."""
        for owner in self.lineage(cls):
            if after is not None:
                if owner == after:
                    after = None
                continue
            found = owner.module.methods(owner.node).get(name)
            if found is not None:
                scope = self.module_scope(owner.module)
                return FunctionDef(found, owner.module, scope, None, owner)
        return None

    def attributes(self, cls: ClassDef) -> set[str]:
        """The names of what the class's own code gives to its objects."""
        found: set[str] = set()
        for owner in self.lineage(cls):
            found |= owner.module.attributes(owner.node)
        return found

    def lineage(self, cls: ClassDef, depth: int = 0) -> list[ClassDef]:
        """The class and its bases that are code of the project, nearest first."""
        known = self.known.lineages.get(id(cls.node))
        if known is not None:
            return known
        found = [cls]
        if depth < 8:
            for base in cls.node.bases:
                value = self.in_module(cls.module, base)
                if isinstance(value, ClassDef) and value not in found:
                    found += [c for c in self.lineage(value, depth + 1) if c not in found]
        if not depth:
            self.known.lineages[id(cls.node)] = found
        return found

    def bases_outside(self, cls: ClassDef) -> list[str]:
        """The dotted names of base classes that are no code of the project."""
        known = self.known.bases_outside.get(id(cls.node))
        if known is not None:
            return known
        found = self.known.bases_outside[id(cls.node)] = []
        for owner in self.lineage(cls):
            for base in owner.node.bases:
                value = self.in_module(owner.module, base)
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
