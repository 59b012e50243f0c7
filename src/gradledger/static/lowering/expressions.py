"""Evaluates expressions: what they stand for, and what they do to gradients on the way."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable
from typing import Any

from gradledger.ledger.events import UNKNOWN_WEIGHT
from gradledger.ledger.values import replace
from gradledger.static.lowering.blocks import acts
from gradledger.static.lowering.effects import Reads
from gradledger.static.lowering.facts import PLAIN_ATTRIBUTES
from gradledger.static.lowering.joining import join
from gradledger.static.lowering.knowledge import Knowledge
from gradledger.static.lowering.sizes import shape_of, sliced
from gradledger.static.lowering.state import State
from gradledger.static.lowering.values import (
    NO_KEYS,
    PLAIN,
    UNKNOWN,
    ClassDef,
    Constant,
    Count,
    External,
    FunctionDef,
    Gradients,
    Imported,
    Items,
    Keys,
    Known,
    Optimizer,
    Parameters,
    Thing,
    carried_by,
    is_plain,
    kept_in,
    reach_of,
)
from gradledger.static.lowering.weights import (
    MEAN,
    added,
    divided,
    multiplied,
    operator_of,
    weight_of,
)
from gradledger.static.program import Loop
from gradledger.static.project import Import, Module

OUTSIDE = frozenset(
    {
        *sys.stdlib_module_names,
        *[
            "torch",
            "torchvision",
            "torchaudio",
            "torchtext",
            "numpy",
            "np",
            "scipy",
            "pandas",
            "sklearn",
            "matplotlib",
            "tqdm",
            "transformers",
            "datasets",
            "accelerate",
            "lightning",
            "pytorch_lightning",
            "deepspeed",
            "apex",
            "wandb",
            "gradledger",
            "tensorboardX",
            "yaml",
            "PIL",
            "cv2",
            "gym",
            "gymnasium",
            "einops",
            "timm",
            "peft",
            "ignite",
            "fastai",
            "horovod",
            "jax",
            "flax",
            "tensorflow",
            "keras",
            "mxnet",
            "paddle",
            "omegaconf",
            "hydra",
            "absl",
            "ray",
            "optuna",
            "rich",
            "click",
        ],
    }
)
"""Names of packages that are no file of a project: looking for one costs time."""

MOST_ITEMS = 24
LABELLED = "a model called with labels"
CONVENTIONS = {
    "torch": "torch",
    "nn": "torch.nn",
    "optim": "torch.optim",
    "F": "torch.nn.functional",
    "np": "numpy",
    "tqdm": "tqdm.tqdm",
    "amp": "apex.amp",
}
"""What everybody calls them, also where the import is out of sight."""
BUILTINS = frozenset(dir(builtins))


class Expressions(State):
    """Values of expressions."""

    known: Knowledge

    def eval(self, node: ast.expr | None) -> Known:
        """What the expression stands for."""
        if node is None:
            return UNKNOWN
        evaluate: Callable[[Any, Any], Known] | None = _EVALUATE.get(type(node))
        return UNKNOWN if evaluate is None else evaluate(self, node)

    def used(self, node: ast.expr | None) -> Known:
        """The same, of an operand or an argument: who takes a `.grad` has read it."""
        value = self.eval(node)
        if isinstance(value, Gradients) and node is not None:
            self.emit(Reads(self.at(node), *_named_by(value.of)))
            return PLAIN
        return value

    def call(self, node: ast.Call) -> Known:
        """What a call gives and does."""
        raise NotImplementedError

    def spelled(self, node: ast.expr) -> str:
        """The text of an expression, without its spaces and comments."""
        known = self.known.spelled.get(id(node))
        if known is None:
            known = self.known.spelled[id(node)] = ast.unparse(node)
        return known

    # Names

    def name(self, node: ast.Name) -> Known:
        """The value of a name."""
        return self.lookup(node.id)

    def lookup(self, name: str) -> Known:
        """What a name stands for here, in the scopes around, or at the top of the file."""
        scope = self.scope
        while True:
            value = self.load(scope.id + name)
            if value is not None:
                return value
            if scope.parent is None:
                break
            scope = self.scopes[scope.parent]
        found = self.defined(self.scope.module, name)
        if found is not None:
            return found
        if name in BUILTINS:
            return External(f"builtins.{name}")
        if name in CONVENTIONS:
            return External(CONVENTIONS[name])
        return Thing(self.scope.id + name if self.scope.id else name)

    def full_name(self, name: str) -> str:
        """Where a name is kept when it is assigned here."""
        scope = self.scope
        if name in _declared_elsewhere(scope.node):
            return name
        return scope.id + name

    def defined(self, module: Module, name: str, depth: int = 0) -> Known | None:
        """What the top level of a module defines by this name."""
        key = id(module), name
        if depth or key not in self.known.definitions:
            value = self._defined(module, name, depth)
            if depth:
                return value
            self.known.definitions[key] = value
        value = self.known.definitions[key]
        if isinstance(value, FunctionDef):
            self.module_scope(value.module)  # of this walk, whoever has asked before
        return value

    def _defined(self, module: Module, name: str, depth: int) -> Known | None:
        found = module.definitions.get(name)
        match found:
            case None:
                return self._by_star(module, name, depth)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return FunctionDef(found, module, self.module_scope(module))
            case ast.ClassDef():
                return ClassDef(found, module)
            case ast.Constant(value):
                return Constant.of(value)
            case Import() if depth < 6:
                return self._imported(module, found, depth)
            case _:
                return None

    def _by_star(self, module: Module, name: str, depth: int) -> Known | None:
        for star in module.stars if depth < 3 and len(module.stars) < 8 else ():
            top = star.module.partition(".")[0]
            if not star.level and top in OUTSIDE:
                continue
            other = self.project.imported(module, star.module, star.level)
            if other is not None and other is not module:
                value = self.defined(other, name, depth + 1)
                if value is not None:
                    return value
        return None

    def module_scope(self, module: Module) -> str:
        """The scope of a module's top level."""
        if module is self.scopes[""].module:
            return ""
        id = f"{module.path}:"
        if id not in self.scopes:
            from gradledger.static.lowering.state import Scope

            self.scopes[id] = Scope(id, module)
        return id

    def _imported(self, by: Module, wanted: Import, depth: int) -> Known:
        top = wanted.module.partition(".")[0]
        dotted = ".".join(filter(None, (wanted.module, wanted.name)))
        if not wanted.level and top in OUTSIDE:
            return External(dotted)
        if not wanted.name:
            module = self.project.imported(by, wanted.module, wanted.level)
            return External(dotted) if module is None else Imported(module.path, module)
        module = (
            self.project.imported(by, wanted.module, wanted.level)
            if wanted.module or (wanted.level)
            else None
        )
        if module is not None:
            value = self.defined(module, wanted.name, depth + 1)
            if value is not None:
                return value
            inner = self.project.submodule(module, wanted.name)
            if inner is not None:
                return Imported(inner.path, inner)
        inside = ".".join(filter(None, (wanted.module, wanted.name)))
        module = self.project.imported(by, inside, wanted.level)
        return External(dotted) if module is None else Imported(module.path, module)

    # Attributes and items

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
                return base if name in ("optimizer", "optim", "_optimizer") else UNKNOWN
            case Parameters():
                if name == "grad":
                    return Gradients(base)
                if name.startswith("grad_sample"):
                    self.emit(Reads(self.at(node), *_named_by(base)))
                    return PLAIN
                return base if name in ("data", "params") else PLAIN
            case Gradients():
                return base if name == "data" else PLAIN
            case FunctionDef() | ClassDef():
                return self._of_class(base, name) if isinstance(base, ClassDef) else UNKNOWN
            case _:
                return PLAIN if is_plain(base) else UNKNOWN

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
        if name == "grad":
            keys = frozenset({thing.key} if thing.key else thing.reach)
            return Gradients(Parameters(keys, leaf=True))
        if name.startswith("grad_sample"):
            self.emit(Reads(self.at(node), frozenset({thing.key} if thing.key else thing.reach)))
            return PLAIN
        if thing.key:
            value = self.load(f"{thing.key}.{name}")
            if value is not None:
                return value
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
        key = f"{thing.key}.{name}" if thing.key else ""
        return Thing(
            key,
            thing.reach,
            thing.plain,
            # What transformers' models call the loss is a mean over the batch.
            MEAN if name == "loss" and thing.built == LABELLED else UNKNOWN_WEIGHT,
            sure=thing.sure,
            carried=thing.carried,
            local=thing.local,
            depth=thing.depth,
            maybe=thing.maybe,
        )

    def property_of(self, method: FunctionDef, thing: Thing, name: str) -> Known:
        """The value of a property."""
        raise NotImplementedError

    def _of_class(self, cls: ClassDef, name: str) -> Known:
        for owner in self.lineage(cls):
            for statement in owner.node.body:
                match statement:
                    case ast.Assign([ast.Name(id=known)], ast.Constant(value)) if known == name:
                        return Constant.of(value)
                    case ast.AnnAssign(ast.Name(id=known), _, ast.Constant(value)) if known == name:
                        return Constant.of(value)
        return self.method(cls, name) or Thing(f"{cls.node.name}.{name}")

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

    def in_module(self, module: Module, node: ast.expr) -> Known:
        """The value of an expression at the top level of a module."""
        with self.inside(self.scopes[self.module_scope(module)]):
            return self.eval(node)

    def subscript(self, node: ast.Subscript) -> Known:
        """The value of an item."""
        base, index = self.eval(node.value), self.eval(node.slice)
        match base, index:
            case Items(), Constant(value):
                if base.names:
                    for name, item in zip(base.names, base.values, strict=False):
                        if name == value:
                            return item
                elif isinstance(value, int) and -len(base.values) <= value < len(base.values):
                    return base.values[value]
                return UNKNOWN
            case Parameters(), _:
                return base
            case Gradients(), _:
                return base
            case Thing(), _:
                return self._item(base, index, node)
            case Items(), _:
                any_of: Known = base.values[0] if base.values else UNKNOWN
                for other in base.values[1:]:
                    any_of = join(any_of, other)
                return any_of
            case _:
                return UNKNOWN

    def _item(self, base: Thing, index: Known, node: ast.Subscript) -> Known:
        which = repr(index.value) if isinstance(index, Constant) else "*"
        key = f"{base.key}[{which}]" if base.key else ""
        if key and (value := self.load(key)) is not None:
            return value
        if base.plain:
            shape = sliced(base.shape, node.slice, index)
            return Thing(plain=True, shape=shape) if shape else PLAIN
        return replace(base, key=key, leaf=False, cls=None, built="", kept=base.kept)

    # Operators

    def binary(self, node: ast.BinOp) -> Known:
        """Arithmetic: of counters, of parameters, of losses."""
        left, right = self.used(node.left), self.used(node.right)
        operator = operator_of(node)
        counted = _counted(left, right, node)
        if counted is not None:
            return counted
        if isinstance(left, Items) and isinstance(right, Items) and operator == "+":
            return Items(left.values + right.values)
        if isinstance(left, Parameters) and isinstance(right, Parameters):
            return Parameters(left.keys | right.keys, left.of | right.of)
        return self.combined(left, right, operator, node)

    def combined(self, left: Known, right: Known, operator: str, node: ast.AST) -> Known:
        """A tensor that is computed from two others."""
        if is_plain(left) and is_plain(right):
            shape = shape_of(left) or shape_of(right)
            return Thing(plain=True, shape=shape) if shape else PLAIN
        if operator == "/" and is_plain(left):
            return PLAIN
        weight = replace(weight_of(left), divisor=None)
        if operator == "/" and is_plain_number(right):
            text = ast.unparse(node.right) if isinstance(node, ast.BinOp) else _value_text(node)
            weight = divided(weight_of(left), right, text, self.at(node))
        elif operator == "*":
            if is_plain_number(right):
                weight = multiplied(weight_of(left), right, self.at(node))
            elif is_plain_number(left):
                weight = multiplied(weight_of(right), left, self.at(node))
        elif operator == "+":
            if is_plain(left):
                weight = weight_of(right)
            elif is_plain(right):
                weight = weight_of(left)
            else:
                weight = added(weight_of(left), weight_of(right))
        made = self.computed(left, right)
        return replace(made, weight=weight)

    def computed(self, *values: Known, sure: bool = True) -> Thing:
        """What is computed from these: its graph leads where theirs do."""
        if not self.grad_enabled:
            return PLAIN
        things = [v for v in values if isinstance(v, Thing) and not v.plain]
        if all(map(is_plain, values)):
            return PLAIN
        reach = NO_KEYS.union(*map(_graph_of, values))
        maybe = NO_KEYS.union(*(t.maybe for t in things))
        if not sure:
            # What code out of sight does with an object, a model among them, nobody knows.
            surely = NO_KEYS.union(*(_graph_of(v) for v in values if not _is_object(v)))
            reach, maybe = surely, maybe | (reach - surely)
        return Thing(
            reach=reach,
            maybe=maybe,
            scaler=next((t.scaler for t in things if t.scaler), None),
            kept=frozenset().union(*map(kept_in, values)),
            carried=frozenset().union(*map(carried_by, values)) if sure else frozenset(),
            local=any(t.local for t in things),
            depth=min((t.depth for t in things if t.reach and t.sure), default=len(self.loops)),
            sure=sure and any(t.sure or t.leaf for t in things),
        )

    def unary(self, node: ast.UnaryOp) -> Known:
        """`-loss` is as good a loss as any."""
        if isinstance(node.op, ast.Not) and (flag := self.flag(node)) is not None:
            return flag
        value = self.used(node.operand)
        if isinstance(value, Constant) and isinstance(node.op, ast.USub):
            number = value.value
            return Constant.of(-number) if isinstance(number, int | float) else PLAIN
        if isinstance(node.op, ast.Not):
            return PLAIN
        return replace(value, key="", leaf=False) if isinstance(value, Thing) else value

    def either(self, node: ast.IfExp) -> Known:
        """One of two values."""
        answer = self.answer(node.test)
        if answer is not None:
            return self.eval(node.body if answer else node.orelse)
        return join(self.eval(node.body), self.eval(node.orelse))

    def answer(self, test: ast.expr) -> bool | None:
        """Whether a condition is surely true or false; None where that is not known."""
        raise NotImplementedError

    def flag(self, test: ast.expr) -> Known | None:
        """A condition as a value: a truth that is known, or one about windows and rounds."""
        raise NotImplementedError

    def boolean(self, node: ast.BoolOp) -> Known:
        """`a or b` is one of them."""
        flag = self.flag(node)
        if flag is not None:
            return flag
        values = [self.eval(value) for value in node.values]
        value = values[0]
        for other in values[1:]:
            value = join(value, other)
        return value

    def comparison(self, node: ast.Compare) -> Known:
        """A truth; to ask whether a gradient is None is not to read it."""
        flag = self.flag(node)
        if flag is not None:
            return flag
        for operand in (node.left, *node.comparators):
            value = self.eval(operand)
            if isinstance(value, Gradients) and not all(
                isinstance(op, ast.Is | ast.IsNot) for op in node.ops
            ):
                self.emit(Reads(self.at(operand), *_named_by(value.of)))
        return PLAIN

    # Collections

    def listed(self, node: ast.List | ast.Tuple | ast.Set) -> Known:
        """A list, a tuple or a set."""
        values: list[Known] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                inner = self.eval(element.value)
                values += inner.values if isinstance(inner, Items) else (inner,)
            else:
                values.append(self.used(element))
        if len(values) > MOST_ITEMS:
            return self.computed(*values, sure=False)
        return Items(tuple(values))

    def mapping(self, node: ast.Dict) -> Known:
        """A dict."""
        values = tuple(self.used(value) for value in node.values)
        if len(values) > MOST_ITEMS:
            return self.computed(*values, sure=False)
        names = tuple(key.value if isinstance(key, ast.Constant) else None for key in node.keys)
        return Items(values, names)

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Known:
        """All that a comprehension makes, as one."""
        known = self._bind_generators(node.generators)
        rounds = self.rounds if len(node.generators) == 1 else None
        if known is not None and len(node.generators) == 1:
            values = []
            for item in known.values:
                self.assign(node.generators[0].target, item)
                values.append(self.used(node.elt))
            return Items(tuple(values))
        found: list[Known] = []
        block = self.block(lambda: found.append(self.eval(node.elt)))
        if acts(block):
            self.out.append(Loop(block))
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

    def dict_comprehension(self, node: ast.DictComp) -> Known:
        """A dict made in one go."""
        self._bind_generators(node.generators)
        self.eval(node.key)
        value = self.used(node.value)
        if isinstance(value, Parameters):
            return value
        return PLAIN if is_plain(value) else self.computed(value, sure=False)

    def _bind_generators(self, generators: list[ast.comprehension]) -> Items | None:
        known = None
        for generator in generators:
            self.rounds = None
            items = self.items_of(generator.iter)
            known = items if isinstance(items, Items) and len(items.values) <= 8 else None
            if known is None or len(generators) > 1:
                element: Known = items if not isinstance(items, Items) else UNKNOWN
                if isinstance(items, Items) and items.values:
                    element = items.values[0]
                    for other in items.values[1:]:
                        element = join(element, other)
                self.assign(generator.target, element)
            for test in generator.ifs if known is None else ():
                self.eval(test)
        return known

    def items_of(self, node: ast.expr) -> Known:
        """What a loop over this goes through: known items, or what any of them is."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Known) -> None:
        """Gives names to a value."""
        raise NotImplementedError

    def formatted(self, node: ast.JoinedStr) -> Known:
        """A text; what is shown in it is read."""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.used(part.value)
        return PLAIN

    def function(self, node: ast.Lambda) -> Known:
        """A function without a name."""
        return FunctionDef(node, self.scope.module, self.scope.id)

    def named(self, node: ast.NamedExpr) -> Known:
        """`(x := value)`."""
        value = self.eval(node.value)
        self.assign(node.target, value)
        return value

    def keys_of(self, value: Known) -> Keys:
        """Whose parameters an optimizer gets, or are clipped."""
        match value:
            case Parameters():
                return value.keys
            case Items():
                if "params" in value.names:
                    # A param group: what else is in it are numbers.
                    groups = zip(value.names, value.values, strict=False)
                    return NO_KEYS.union(*(self.keys_of(v) for n, v in groups if n == "params"))
                return NO_KEYS.union(*map(self.keys_of, value.values))
            case Thing() if not value.plain:
                if value.key and not value.reach:
                    return frozenset({value.key})
                return frozenset(k for k in value.reach if not _is_option(k))
            case _:
                return NO_KEYS


def is_property(node: ast.AST) -> bool:
    """Is this the getter of a property?"""
    for decorator in getattr(node, "decorator_list", ()):
        name = (
            decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
        )
        if name.endswith("property"):
            return True
    return False


def is_plain_number(value: Known) -> bool:
    """Can it be a number that a loss is divided by? Unknown names are."""
    if isinstance(value, Thing):
        return value.plain or not value.reach
    return is_plain(value)


def _is_option(key: str) -> bool:
    name = key.rpartition(":")[2].partition(".")[0]
    return name in ("args", "cfg", "config", "opts", "conf", "hparams", "flags", "FLAGS", "params")


def _named_by(parameters: Parameters) -> tuple[Keys, str, bool]:
    """Keys, or the optimizer whose parameters these are; and whether they are single tensors."""
    if parameters.of and not parameters.keys:
        return NO_KEYS, min(parameters.of), False
    return parameters.keys, "", parameters.leaf


named_by = _named_by


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


def _counted(left: Known, right: Known, node: ast.BinOp) -> Known | None:
    """A counter plus or minus a number, or a counter that runs on."""
    if not (isinstance(left, Count) or isinstance(right, Count)):
        if isinstance(left, Constant) and isinstance(right, Constant):
            return _constant(left.value, right.value, node)
        return None
    counter, other = (left, right) if isinstance(left, Count) else (right, left)
    if (
        isinstance(other, Constant)
        and isinstance(other.value, int)
        and isinstance(node.op, ast.Add | ast.Sub)
        and (isinstance(node.op, ast.Add) or counter is left)
    ):
        sign = 1 if isinstance(node.op, ast.Add) else -1
        return Count(counter.loop, counter.plus + sign * other.value)  # type: ignore[union-attr]
    return PLAIN if isinstance(node.op, ast.Mod) else Count("")


def _constant(left: object, right: object, node: ast.BinOp) -> Known:
    if not (isinstance(left, int | float) and isinstance(right, int | float)):
        return PLAIN
    try:
        match node.op:
            case ast.Add():
                return Constant.of(left + right)
            case ast.Sub():
                return Constant.of(left - right)
            case ast.Mult():
                return Constant.of(left * right)
            case ast.Div():
                return Constant.of(left / right)
            case ast.FloorDiv():
                return Constant.of(left // right)
    except (ArithmeticError, ValueError):
        pass
    return PLAIN


def _value_text(node: ast.AST) -> str:
    value = getattr(node, "value", None)
    return ast.unparse(value) if isinstance(value, ast.expr) else "?"


def _declared_elsewhere(node: ast.AST | None) -> set[str]:
    """Names that a function says are global."""
    body = getattr(node, "body", None)
    if not isinstance(body, list):
        return set()
    return {n for s in body if isinstance(s, ast.Global) for n in s.names}


_EVALUATE: dict[type[ast.expr], Callable[[Any, Any], Known]] = {
    ast.Name: Expressions.name,
    ast.Constant: lambda self, node: Constant.of(node.value),
    ast.Attribute: Expressions.attribute,
    ast.Subscript: Expressions.subscript,
    ast.Call: lambda self, node: self.call(node),
    ast.BinOp: Expressions.binary,
    ast.UnaryOp: Expressions.unary,
    ast.IfExp: Expressions.either,
    ast.BoolOp: Expressions.boolean,
    ast.Compare: Expressions.comparison,
    ast.List: Expressions.listed,
    ast.Tuple: Expressions.listed,
    ast.Set: Expressions.listed,
    ast.Dict: Expressions.mapping,
    ast.ListComp: Expressions.comprehension,
    ast.SetComp: Expressions.comprehension,
    ast.GeneratorExp: Expressions.comprehension,
    ast.DictComp: Expressions.dict_comprehension,
    ast.Lambda: Expressions.function,
    ast.NamedExpr: Expressions.named,
    ast.Await: lambda self, node: self.eval(node.value),
    ast.Starred: lambda self, node: self.eval(node.value),
    ast.JoinedStr: Expressions.formatted,
    ast.Slice: lambda self, node: PLAIN,
}
