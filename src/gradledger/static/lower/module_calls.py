"""Nets that are called, and other modules: what comes of them, and what its graph leads to."""

from __future__ import annotations

from collections.abc import Callable

from gradledger.ledger.events import UNKNOWN_WEIGHT
from gradledger.ledger.values import replace
from gradledger.static import budget
from gradledger.static.domain.values import (
    NO_PLACES,
    PLAIN,
    RECIPE,
    UNKNOWN,
    ClassDef,
    FunctionDef,
    Items,
    Known,
    Places,
    Thing,
    is_plain,
    reach_of,
)
from gradledger.static.ir.effects import Clears
from gradledger.static.ir.keys import NO_KEYS, within
from gradledger.static.ir.notes import ModuleKeepsGraph
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.arithmetic import passes_of
from gradledger.static.lower.attributes import APPLIED, LABELLED
from gradledger.static.lower.call_graph import callee_of, length_of
from gradledger.static.lower.gradient_calls import GradientCalls
from gradledger.static.models import facts, graphless
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

OWN_CLEAR = Pattern(r"self\.zero_grad\(", words=("self.zero_grad(",))

THAWS = Pattern(
    r"requires_grad\w*(?:\(\)|[^\r\n]*\bTrue\b)",
    words=("requires_grad",),
)
"""Words of code that gives gradients back: what it takes them from has none only in between."""

LOSSES = Pattern(r"cross_entropy|_loss\(|Loss\(|loss_fn|criterion")


LAYERS = Pattern(r"\bnn\.[A-Z]\w*\(|Parameter\(|Linear\(|Conv\dd\(|Embedding\(")
"""Words of modules that have parameters, or others in them."""


class NetCalls(GradientCalls):
    """Calls of modules, and of things of which nobody knows what they are."""

    def _with_unlisted(self, made: Thing, key: str, cls: ClassDef) -> Thing:
        """What a module gives, made also by the layers that it keeps in plain lists."""
        if len(self.lineage(cls)) > 1 or self.bases_outside(cls) != ["torch.nn.Module"]:
            return made
        if key not in self.unlisted:
            from gradledger.static.lower.plain_list_layers import unlisted

            self.unlisted[key] = unlisted(cls)
        return replace(made, reach=made.reach | {f"{key}'s {n}" for n in self.unlisted[key]})

    def _call_thing(self, thing: Thing, node: ast.Call) -> Known:
        arguments = self.arguments(node)
        if thing.built == APPLIED:
            return self.computed(*arguments.values())
        forward = None
        if thing.cls is not None:
            method = self.method(thing.cls, "__call__")
            if method is not None and self.is_interesting(method):
                return self.call_function(replace(method, bound=thing), arguments, node)
            forward = self.method(thing.cls, "forward")
            if thing.key and forward is not None and forward.module.says(OWN_CLEAR, forward.node):
                self.emit(Clears(self.at(node), frozenset({thing.key})))
            if forward is not None and not self.forgets_its_graph(thing.key):
                self.note(ModuleKeepsGraph, self.at(node), frozenset({thing.key} - {""}))
        self.watch_strangers(thing.key, thing, arguments, node)
        model = self.is_model(thing.key) or thing.built.startswith("torch.nn.")
        model = model or self._is_spent_for(thing)
        made = self.computed(thing, *arguments.values(), sure=False)
        if forward is not None and self._gives_numbers(thing, forward, arguments, node):
            return PLAIN
        judged = self._judged(thing, forward, arguments, node)
        if judged is not None and judged.plain:
            return PLAIN
        if made.reach and forward is not None and self.gives_several(forward):
            given = filter(None, map(reach_of, arguments.values()))
            surely = made.reach.intersection(*given)
            made = replace(made, reach=surely, maybe=made.maybe | (made.reach - surely))
        if not made.plain:
            made = self._with_own(made, thing, arguments)
            if thing.key and thing.cls is not None:
                made = self._with_unlisted(made, thing.key, thing.cls)
        if thing.cls is not None and not made.plain:
            losses = self._losses_of(thing, arguments, made, node)
            if losses is not None and self.grad_enabled:
                return losses
        if not self.grad_enabled:
            return PLAIN
        carried = frozenset().union(
            *(v.carried for v in arguments.values() if isinstance(v, Thing)), frozenset()
        )
        weight = replace(
            made.weight,
        )
        kind = facts.last(thing.built)
        if kind in facts.MEAN_MODULES:
            weight = thing.weight
        depths = [
            v.depth for v in arguments.values() if isinstance(v, Thing) and v.sure and v.reach
        ]
        made = replace(
            made,
            sure=model and self._adds_a_graph(thing, arguments),
            carried=carried,
            weight=weight,
            local=bool(self.local) or (made.local and kind in facts.MEAN_MODULES),
            depth=min(depths, default=len(self.loops)),
            built=LABELLED if _labelled(node) and model else _by_recipe(thing, node),
            passes=self._passes(thing, arguments, node),
        )
        if judged is not None:
            made = replace(made, sure=made.sure and judged.sure, among=judged.among)
        return self._several(thing, arguments, made, node)

    def _adds_a_graph(self, thing: Thing, arguments: Arguments) -> bool:
        """Has what it gives surely a graph? Without free parameters, if what it is given has."""
        kind = facts.last(thing.built)
        computes = thing.built.startswith("torch.nn.") and not facts.has_parameters(thing.built)
        computes = computes and kind not in (*facts.CONTAINERS, "Module")
        if not computes and not self._is_frozen(thing):
            return True
        return any(isinstance(v, Thing) and (v.sure or v.leaf) for v in arguments.values())

    def _is_frozen(self, thing: Thing) -> bool:
        """Has it no gradients while it is called?"""
        return bool(thing.key) and any(within(thing.key, key) for key in self.frozen)

    def _is_spent_for(self, thing: Thing) -> bool:
        """Has an optimizer got its parameters, in whatever file that was? Then it is a net."""
        return bool(thing.key) and any(
            thing.key in (optimizer.keys or ()) and not optimizer.tensors
            for optimizer in self.optimizers.values()
        )

    def _passes(self, thing: Thing, arguments: Arguments, node: ast.Call) -> Places:
        """The calls that the graph of what a model gives was made by, this one among them."""
        if not self.local and facts.last(thing.built) not in facts.MEAN_MODULES:
            self.averaged[self.at(node)] = thing.replicated
        if not (thing.key and self.forgets_its_graph(thing.key)):
            return NO_PLACES
        given = [v for v in arguments.values() if not is_plain(v)]
        before = passes_of(given)
        own = not given and (thing.cls is not None or facts.has_parameters(thing.built))
        return before | {self.at(node)} if before or own else NO_PLACES

    def _with_own(self, made: Thing, thing: Thing, arguments: Arguments) -> Thing:
        """What a model gives leads to its own parameters, unless these are frozen meanwhile."""
        own = reach_of(thing)
        if thing.cls is not None:
            own |= self.keys_named(thing)
        if self._is_frozen_for_now(thing):
            given = NO_KEYS.union(*map(reach_of, arguments.values()))
            return replace(made, reach=made.reach - own | given, maybe=made.maybe - own - given)
        reach = made.reach | own
        return replace(made, reach=reach, maybe=made.maybe - reach)

    def _is_frozen_for_now(self, thing: Thing) -> bool:
        """Has it no gradients while it is called, and gets them back? Its graph stays without."""
        return self._is_frozen(thing) and self.scope.module.says_anywhere(THAWS)

    def _gives_numbers(
        self, thing: Thing, forward: FunctionDef, arguments: Arguments, node: ast.Call
    ) -> bool:
        """Has nothing of what it returns a graph, like the labels that it chooses?"""
        if not forward.module.says(graphless.CHOICES, forward.node):
            return False
        return is_plain(self._returned(replace(forward, bound=thing), arguments, node))

    def _judged(
        self, thing: Thing, forward: FunctionDef | None, arguments: Arguments, node: ast.Call
    ) -> Thing | None:
        """What a module without parameters makes of what a net gave: a loss, or how good it is."""
        if forward is None or thing.cls is None or is_layer(thing.cls):
            return None
        if length_of(forward.node) >= budget.LONG_FUNCTION:
            return None
        value = self._returned(replace(forward, bound=thing), arguments, node)
        if is_plain(value) and all(map(is_plain, arguments.values())):
            return UNKNOWN  # it may have been given nets when it was made
        return value if isinstance(value, Thing) else None

    def _losses_of(
        self, thing: Thing, arguments: Arguments, made: Thing, node: ast.Call
    ) -> Known | None:
        """What a model's own forward returns, where it computes the loss itself."""
        forward = self.method(thing.cls, "forward") if thing.cls is not None else None
        if thing.cls is None or forward is None or not self._computes_losses(thing.cls, forward):
            return None

        def as_output(part: Known) -> Known:
            weight = part.weight if isinstance(part, Thing) else made.weight
            sure = weight != UNKNOWN_WEIGHT or (isinstance(part, Thing) and part.sure)
            among = isinstance(part, Thing) and part.among
            return replace(made, weight=weight, sure=sure, local=bool(self.local), among=among)

        value = self._returned(replace(forward, bound=thing), arguments, node)
        return _outputs(value, as_output)

    def _computes_losses(self, cls: ClassDef, forward: FunctionDef) -> bool:
        """Does it, by its words, or by what it calls: a loss of torch's under any name?"""
        if LOSSES.search(forward.module.text(forward.node)):
            return True
        called = forward.module.calls(forward.node)[0]
        return any(self.held_loss(cls, name) is not None for name in called)

    def _several(self, thing: Thing, arguments: Arguments, made: Thing, node: ast.Call) -> Known:
        """What a model gives, of which some may be no more than numbers: the ids that it chose."""
        forward = self.method(thing.cls, "forward") if thing.cls is not None else None
        if forward is None or not self.gives_several(forward):
            return made
        value = self._returned(replace(forward, bound=thing), arguments, node)
        numbers = isinstance(value, Items) and any(map(is_plain, value.values))

        def as_output(part: Known) -> Known:
            seen = isinstance(part, Thing) and part.sure and not part.among
            return replace(made, among=made.sure and not seen)

        return (_outputs(value, as_output) or made) if numbers else made

    def _returned(self, forward: FunctionDef, arguments: Arguments, node: ast.Call) -> Known:
        """What it returns; what it does on the way is not written down."""
        self.known.interesting[callee_of(forward)] = True
        before = self.inlined.copy(), len(self.unknown)
        listening = self.listening
        value = self.quietly(lambda: self.call_function(forward, arguments, node))
        self.inlined, self.unknown = before[0], self.unknown[: before[1]]
        if not listening and self.listening:
            # A model that shows where it looks is trained like any other, unless somebody asks.
            from gradledger.static.lower.activation_hooks import asks_for_what_was_heard

            self.listening = asks_for_what_was_heard(forward, self.scope.module)
        return value


def _outputs(value: Known, as_output: Callable[[Known], Known]) -> Known | None:
    """Each of what a model returns, where that is a tensor; else a number, or nobody knows what."""

    def of(part: Known) -> Known:
        if is_plain(part):
            return PLAIN  # a count, an accuracy, a loss to be shown
        if isinstance(part, Items):
            return replace(part, values=tuple(map(of, part.values)))
        return as_output(part)

    if isinstance(value, Items):
        return replace(value, values=tuple(map(of, value.values)))
    return of(value) if isinstance(value, Thing) else None


def _by_recipe(thing: Thing, node: ast.Call) -> str:
    """Is something called of which nobody knows whether it is a net, or makes one?"""
    given = node.args or node.keywords or thing.cls is not None or thing.built
    return "" if given else RECIPE


def _labelled(node: ast.Call) -> bool:
    """Does a model get the labels, so that it computes its loss itself?"""
    return any(k.arg in (None, "labels") for k in node.keywords)


def is_layer(cls: ClassDef) -> bool:
    """May a module of the project's own have parameters? A loss that only computes has none."""
    bases = {ast.unparse(base).rpartition(".")[2] for base in cls.node.bases}
    return bases != {"Module"} or bool(LAYERS.search(cls.module.text(cls.node)))
