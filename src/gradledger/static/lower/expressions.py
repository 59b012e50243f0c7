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
from gradledger.static.lower.arithmetic import Arithmetic
from gradledger.static.lower.attributes import LABELLED
from gradledger.static.lower.loader_sizes import sliced
from gradledger.static.lower.spelling import decided_by, last_name
from gradledger.static.models import graphless
from gradledger.static.source import syntax as ast
from gradledger.static.source.vocabulary import CUTS_IN_PLACE, OF_NETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp


class Expressions(Arithmetic):
    """Values of expressions."""

    def eval(self, node: ast.expr | None) -> Known:
        """What the expression stands for."""
        if node is None:
            return UNKNOWN
        evaluate: Callable[[Any, Any], Known] | None = _EVALUATE.get(type(node))
        return UNKNOWN if evaluate is None else evaluate(self, node)

    def call(self, node: ast.Call) -> Known:
        """What a call gives and does."""
        raise NotImplementedError

    def spelled(self, node: ast.expr) -> str:
        """The text of an expression, without its spaces and comments."""
        known = self.known.spelled.get(id(node))
        if known is None:
            known = self.known.spelled[id(node)] = ast.unparse(node)
        return known

    def subscript(self, node: ast.Subscript) -> Known:
        """The value of an item."""
        base, index = self.eval(node.value), self.eval(node.slice)
        match base, index:
            case Items(), Constant(value):
                if base.names:
                    return base.at(value) or UNKNOWN
                if isinstance(value, int) and -len(base.values) <= value < len(base.values):
                    return base.values[value]
                return UNKNOWN
            case Parameters(), _:
                return base
            case Gradients(), _:
                return replace(base, part=True)
            case Optimizer(), _:
                if not self.goes_through_all(node.slice):
                    self.note(ManyAsOne, self.at(node), optimizers=frozenset({base.name}))
                return base
            case Thing(), Constant(1) if _gives_places(node.value):
                return PLAIN
            case Thing(), _:
                return self._item(base, index, node)
            case Items(), _:
                any_of: Known = base.values[0] if base.values else UNKNOWN
                for other in base.values[1:]:
                    any_of = join(any_of, other)
                return any_of
            case _:
                return UNKNOWN

    def goes_through_all(self, index: ast.expr) -> bool:
        """Does a loop pick each item of a collection by this, one in each round?"""
        name = decided_by(index)
        return bool(name) and self.full_name(name) in self.each_once

    def _item(self, base: Thing, index: Known, node: ast.Subscript) -> Known:
        which = repr(index.value) if isinstance(index, Constant) else "*"
        key = f"{base.key}[{which}]" if base.key else ""
        if key and which == "*" and self.uses().role(base.key) == "optimizer":
            self._note_pick(key, index, node.slice)
        if key and (value := self.load(key)) is not None:
            return value
        if base.plain:
            shape = sliced(base.shape, node.slice, index)
            return Thing(plain=True, shape=shape) if shape else PLAIN
        # What transformers' models give first is the loss.
        weight = MEAN if base.built == LABELLED and index == Constant.of(0) else base.weight
        return replace(base, key=key, leaf=False, cls=None, built="", weight=weight)

    def _note_pick(self, key: str, index: Known, spelled: ast.expr) -> None:
        """Who takes one optimizer of several by this key, and one by that, has two in his hands."""
        by = index.key if isinstance(index, Thing) and index.key else self.spelled(spelled)
        if not self.goes_through_all(spelled) and self.picked.setdefault(key, by) != by:
            self.note(ManyAsOne, self.at(spelled), optimizers=frozenset({key}))

    def listed(self, node: ast.List | ast.Tuple | ast.Set) -> Known:
        """A list, a tuple or a set."""
        values: list[Known] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                inner = self.eval(element.value)
                values += inner.values if isinstance(inner, Items) else (inner,)
            else:
                values.append(self.used(element))
        if len(values) > budget.MOST_ITEMS:
            return self.computed(*values, sure=False)
        kind = type(node).__name__.lower() if values else ""  # what is empty may be filled
        return Items(tuple(values), kind=kind)

    def mapping(self, node: ast.Dict) -> Known:
        """A dict."""
        values = tuple(self.used(value) for value in node.values)
        if len(values) > budget.MOST_ITEMS:
            return self.computed(*values, sure=False)
        names = tuple(key.value if isinstance(key, ast.Constant) else None for key in node.keys)
        return Items(values, names)

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Known:
        """All that a comprehension makes, as one."""
        known = self._bind_generators(node)
        in_place = self.scope.module.says(CUTS_IN_PLACE, node)
        if in_place and cuts_each(node.generators[0].target, node.elt):
            self.cut(node.generators[0].iter)
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

    def rebind(self, target: ast.expr, value: Known) -> None:
        """Changes what a name stands for, without a new value being assigned."""
        raise NotImplementedError

    def cut(self, spelled: ast.expr) -> None:
        """It has no graph any more: `state.detach_()`, of one part or of each."""
        while isinstance(spelled, ast.Subscript):
            spelled = spelled.value
        if isinstance(spelled, ast.Name | ast.Attribute):
            self.release(kept_in(self.eval(spelled)), spelled)
            self.rebind(spelled, PLAIN)

    def release(self, places: Places, node: ast.AST) -> None:
        """What was kept at these places is let go."""
        for place in sorted(places, key=lambda p: p.sort_key):
            self.emit(Release(self.at(node), place))

    def dict_comprehension(self, node: ast.DictComp) -> Known:
        """A dict made in one go."""
        self._bind_generators(node)
        self.eval(node.key)
        value = self.used(node.value)
        if isinstance(value, Parameters):
            return value
        if is_meter(value):
            return Items((value,), (EVERY_KEY,))
        return PLAIN if is_plain(value) else self.computed(value, sure=False)

    def _bind_generators(self, node: Comprehension) -> Items | None:
        known, generators = None, node.generators
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
                self.assign(generator.target, self._net_among(generator, node) or element)
            for test in generator.ifs if known is None else ():
                self.eval(test)
        return known

    def _net_among(self, generator: ast.comprehension, node: Comprehension) -> Thing | None:
        """`Adam(net.parameters()) for net in nets`: one that stands for all of them."""
        if not isinstance(generator.target, ast.Name):
            return None
        if f"{generator.target.id}.parameters()" not in self.scope.module.text(node):
            return None
        nets = generator.iter
        value = self.eval(nets) if isinstance(nets, ast.Name | ast.Attribute) else UNKNOWN
        if not isinstance(value, Thing) or not value.key or value.plain:
            return None
        return Thing(f"{value.key}[*]")

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
