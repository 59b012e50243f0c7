"""What methods of tensors and objects give and do, and models that are called."""

from __future__ import annotations

import re
from collections.abc import Callable

from gradledger.ledger.events import UNKNOWN_WEIGHT
from gradledger.ledger.values import replace
from gradledger.static import syntax as ast
from gradledger.static.lowering import facts, graphless, sizes
from gradledger.static.lowering.arithmetic import passes_of
from gradledger.static.lowering.callees import callee_of
from gradledger.static.lowering.effects import Clears, Clips
from gradledger.static.lowering.gradients import GradientCalls
from gradledger.static.lowering.inlining import Arguments
from gradledger.static.lowering.members import LABELLED
from gradledger.static.lowering.values import (
    NO_KEYS,
    NO_PLACES,
    NONE,
    PLAIN,
    RECIPE,
    UNKNOWN,
    ClassDef,
    Constant,
    FunctionDef,
    Items,
    Known,
    Parameters,
    Places,
    Thing,
    is_plain,
    optimizers_in,
    reach_of,
    within,
)
from gradledger.static.lowering.weights import MEAN, SUM, divided
from gradledger.static.words import Pattern

PUTTING_BACK = ("load_state_dict", "set_param", "set_weight", "restore_param", "restore_weight")
"""Methods by which a model gets other parameters than the last step gave it."""

OWN_CLEAR = Pattern(r"self\.zero_grad\(", words=("self.zero_grad(",))

KEEPERS = Pattern(r"pool|buffer|history|memory|replay", re.IGNORECASE)
"""Names of objects that hand out, without its graph, what they were given: pools of images."""

THAWS = Pattern(
    r"requires_grad\w*(?:\(\)|[^\r\n]*\bTrue\b)",
    words=("requires_grad",),
)
"""Words of code that gives gradients back: what it takes them from has none only in between."""

LOSSES = Pattern(r"cross_entropy|_loss\(|Loss\(|loss_fn|criterion")


class TensorCalls(GradientCalls):
    """Things: tensors, models, engines, anything."""

    def _of_tensor_or_object(self, thing: Thing, name: str, node: ast.Call) -> Known:
        if name == "backward":
            own = self.method(thing.cls, name) if thing.cls is not None else None
            if own is None or not self.makes_deposits(replace(own, bound=thing)):
                return self._backward(thing, node)
        if thing.plain and thing.shape and name in sizes.METHODS:
            return self._of_data(thing, name, node)
        if name.startswith(PUTTING_BACK) and thing.key:
            self.put_back(self.keys_named(thing), node)
        if thing.cls is not None:
            method = self.method(thing.cls, name)
            if name == "forward" and method is not None and not self.is_interesting(method):
                return self._call_thing(thing, node)  # without its hooks, and else the same
            if method is not None:
                return self.call_function(replace(method, bound=thing), self.arguments(node), node)
        known = self.load(f"{thing.key}.{name}") if thing.key else None
        if known is None and thing.cls is not None and name in self.attributes(thing.cls):
            known = self.member(thing, name, node)
        if known is not None:
            return self.call_value(known, node)
        if name in ("parameters", "named_parameters"):
            self.arguments(node)
            return Parameters(self.keys_named(thing))
        if name.endswith(("parameters", "params", "param_groups")) and thing.key:
            self.arguments(node)
            return Parameters(frozenset({f"{thing.key}.{name}()"}))
        if name == "zero_grad":
            self.arguments(node)
            # Of what, nobody may know: that something is cleared here is to be known all the same.
            self.emit(Clears(self.at(node), self.keys_named(thing)))
            return PLAIN
        clips = name in ("clip_grad_norm_", "clip_grad_norm")  # of a model under FSDP
        if clips and thing.key and self.is_model(thing.key):
            self.arguments(node)
            self.emit(Clips(self.at(node), self.keys_named(thing)))
            return PLAIN
        if name == "requires_grad_":
            value = self.arguments(node).get(0, "requires_grad") or Constant.of(True)
            owner = node.func.value if isinstance(node.func, ast.Attribute) else node
            if thing.plain or not thing.key:
                return self.to_leaf(thing, owner)
            if value == Constant.of(True) and not self.is_model(thing.key):
                return replace(thing, plain=False, leaf=True)
            self.freeze(frozenset({thing.key}), value)
            return thing
        if name in facts.SELF_RETURNING:
            arguments = self.arguments(node)
            if name in ("train", "eval") and thing.key:
                self.set_mode(thing.key, name, arguments.get(0, "mode"))
            if any(map(graphless.is_of_whole_numbers, arguments.values())):
                return PLAIN
            return PLAIN if thing.sure and thing.reach and not self.grad_enabled else thing
        if name in graphless.DETACHING or (name == "sample" and self._is_drawn(thing)):
            arguments = self.arguments(node)
            if name == "detach_" and isinstance(node.func, ast.Attribute):
                self.cut(node.func.value)
            return PLAIN if not optimizers_in(Items(arguments.positional)) else UNKNOWN
        if name in ("mean", "sum"):
            self.arguments(node)
            made = self.computed(thing)
            return replace(made, weight=MEAN if name == "mean" else SUM)
        if name in ("div", "div_", "true_divide") and node.args:
            by = self.used(node.args[0])
            weight = divided(thing.weight, by, ast.unparse(node.args[0]), self.at(node))
            return replace(thing, key="", weight=weight)
        return self._of_anything(thing, name, node)

    def _is_drawn(self, thing: Thing) -> bool:
        """Is a sample of it a number? A distribution's is; a model may make one of its own."""
        return thing.cls is None and not self.is_model(thing.key)

    def to_leaf(self, thing: Thing, spelled: ast.expr) -> Thing:
        """Data that gets a gradient of its own, under the name that it has."""
        leaf = replace(thing, plain=False, leaf=True, reach=NO_KEYS)
        if isinstance(spelled, ast.Name):
            leaf = replace(leaf, key=self.scope.id + spelled.id)
            self.rebind(spelled, leaf)
        return leaf

    def _of_data(self, thing: Thing, name: str, node: ast.Call) -> Known:
        """A method of data whose size is known."""
        arguments = self.arguments(node)
        shape: tuple[int, ...] = ()
        if name in sizes.SAME:
            shape = thing.shape
        elif name == "flatten":
            shape = sizes.flattened(thing.shape, arguments)
        elif name == "repeat":
            shape = sizes.repeated(thing.shape, arguments)
        elif name in ("split", "chunk"):
            shape = sizes.cut(name, thing.shape, arguments)
        return Thing(plain=True, shape=shape) if shape else PLAIN

    def _of_anything(self, thing: Thing, name: str, node: ast.Call) -> Known:
        framework = self.framework_call(thing, name, node)
        if framework is not None:
            return framework
        arguments = self.arguments(node)
        if name in ("append", "extend") and arguments.positional and _may_be_a_list(thing):
            self._put_into(node, arguments.positional[0])
            return PLAIN
        if name in ("clear",):
            self.release(thing.kept, node)
        if name in ("register_hook", "register_full_backward_hook", "register_backward_hook"):
            self.listening = True
        self.watch_strangers(f"{thing.key}.{name}", thing, arguments, node)
        if thing.plain and not optimizers_in(Items(arguments.positional)):
            return self.computed(*arguments.values(), sure=False)
        tensor = thing.sure and not self.is_model(thing.key)
        made = self.computed(thing, *arguments.values(), sure=tensor)
        if thing.cls is None and not tensor and KEEPERS.search(re.split(r"[.:]", thing.key)[-1]):
            return replace(made, reach=NO_KEYS, maybe=made.maybe | made.reach)
        return made

    def framework_call(self, thing: Thing, name: str, node: ast.Call) -> Known | None:
        """Calls of objects that frameworks give: engines, accelerators, fabrics."""
        raise NotImplementedError

    def _backward(self, thing: Thing, node: ast.Call) -> Known:
        arguments = self.arguments(node)
        loss = arguments.get(0, "loss")
        if loss is not None and not isinstance(loss, Thing):
            loss = UNKNOWN
        if isinstance(loss, Thing) and self._is_engine(thing, loss):
            return self._engine_backward(thing, loss, node)
        if arguments.get(0, "gradient") not in (None, NONE):
            thing = replace(thing, weight=UNKNOWN_WEIGHT)
        self.deposit(thing, node, arguments)
        return PLAIN

    def _is_engine(self, thing: Thing, loss: Thing) -> bool:
        """Is it an object that runs the backward of a loss it is given, and no loss itself?"""
        if thing.built.startswith(("deepspeed", "gradledger")):
            return True
        name = thing.key.rpartition(".")[2].rpartition(":")[2]
        if "step" in self.uses().of(name):
            return True  # as no tensor does
        if thing.sure or thing.leaf or "loss" in name.lower():
            return False
        return not thing.reach or bool(loss.sure and not thing.sure)

    def _engine_backward(self, engine: Thing, loss: Thing, node: ast.Call) -> Known:
        raise NotImplementedError

    def _with_unlisted(self, made: Thing, key: str, cls: ClassDef) -> Thing:
        """What a module gives, made also by the layers that it keeps in plain lists."""
        if len(self.lineage(cls)) > 1 or self.bases_outside(cls) != ["torch.nn.Module"]:
            return made
        if key not in self.unlisted:
            from gradledger.static.lowering.unlisted import unlisted

            self.unlisted[key] = unlisted(cls)
        return replace(made, reach=made.reach | {f"{key}'s {n}" for n in self.unlisted[key]})

    def _call_thing(self, thing: Thing, node: ast.Call) -> Known:
        arguments = self.arguments(node)
        forward = None
        if thing.cls is not None:
            method = self.method(thing.cls, "__call__")
            if method is not None and self.is_interesting(method):
                return self.call_function(replace(method, bound=thing), arguments, node)
            forward = self.method(thing.cls, "forward")
            if thing.key and forward is not None and forward.module.says(OWN_CLEAR, forward.node):
                self.emit(Clears(self.at(node), frozenset({thing.key})))
            if forward is not None and not self.forgets_its_graph(thing.key):
                self.doubted.add("GL703")
        self.watch_strangers(thing.key, thing, arguments, node)
        model = self.is_model(thing.key) or thing.built.startswith("torch.nn.")
        made = self.computed(thing, *arguments.values(), sure=False)
        if forward is not None and self._gives_numbers(thing, forward, arguments, node):
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
        sure = model or any(isinstance(v, Thing) and v.sure for v in arguments.values())
        depths = [
            v.depth for v in arguments.values() if isinstance(v, Thing) and v.sure and v.reach
        ]
        made = replace(
            made,
            sure=sure and model,
            carried=carried,
            weight=weight,
            local=bool(self.local) or (made.local and kind in facts.MEAN_MODULES),
            depth=min(depths, default=len(self.loops)),
            built=LABELLED if _labelled(node) and model else _by_recipe(thing, node),
            passes=self._passes(thing, arguments, node),
        )
        return self._several(thing, arguments, made, node)

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
        frozen = bool(thing.key) and any(within(thing.key, key) for key in self.frozen)
        return frozen and self.scope.module.says_anywhere(THAWS)

    def _gives_numbers(
        self, thing: Thing, forward: FunctionDef, arguments: Arguments, node: ast.Call
    ) -> bool:
        """Has nothing of what it returns a graph, like the labels that it chooses?"""
        if not forward.module.says(graphless.CHOICES, forward.node):
            return False
        return is_plain(self._returned(replace(forward, bound=thing), arguments, node))

    def _losses_of(
        self, thing: Thing, arguments: Arguments, made: Thing, node: ast.Call
    ) -> Known | None:
        """What a model's own forward returns, where it computes the loss itself."""
        forward = self.method(thing.cls, "forward") if thing.cls is not None else None
        if forward is None or not LOSSES.search(forward.module.text(forward.node)):
            return None

        def as_output(part: Known) -> Known:
            weight = part.weight if isinstance(part, Thing) else made.weight
            sure = weight != UNKNOWN_WEIGHT or (isinstance(part, Thing) and part.sure)
            return replace(made, weight=weight, sure=sure, local=bool(self.local))

        value = self._returned(replace(forward, bound=thing), arguments, node)
        return _outputs(value, as_output)

    def _several(self, thing: Thing, arguments: Arguments, made: Thing, node: ast.Call) -> Known:
        """What a model gives, of which some may be no more than numbers: the ids that it chose."""
        forward = self.method(thing.cls, "forward") if thing.cls is not None else None
        if forward is None or not self.gives_several(forward):
            return made
        value = self._returned(replace(forward, bound=thing), arguments, node)
        numbers = isinstance(value, Items) and any(map(is_plain, value.values))
        return (_outputs(value, lambda _: made) or made) if numbers else made

    def _returned(self, forward: FunctionDef, arguments: Arguments, node: ast.Call) -> Known:
        """What it returns; what it does on the way is not written down."""
        self.known.interesting[callee_of(forward)] = True
        before = self.inlined.copy(), len(self.unknown)
        listening = self.listening
        value = self.quietly(lambda: self.call_function(forward, arguments, node))
        self.inlined, self.unknown = before[0], self.unknown[: before[1]]
        if not listening and self.listening:
            # A model that shows where it looks is trained like any other, unless somebody asks.
            from gradledger.static.lowering.hearing import asks_for_what_was_heard

            self.listening = asks_for_what_was_heard(forward, self.scope.module)
        return value


def _outputs(value: Known, as_output: Callable[[Known], Known]) -> Known | None:
    """Each of what a model returns, where that is a tensor; else a number, or nobody knows what."""

    def of(part: Known) -> Known:
        # A count, an accuracy, a loss to be shown.
        return PLAIN if is_plain(part) else as_output(part)

    if isinstance(value, Items):
        return replace(value, values=tuple(map(of, value.values)))
    return of(value) if isinstance(value, Thing) else None


def _may_be_a_list(thing: Thing) -> bool:
    """Does `append` put something into it? A class from outside may as well keep a number."""
    return facts.last(thing.built) in facts.LISTS or not thing.built


def _by_recipe(thing: Thing, node: ast.Call) -> str:
    """Is something called of which nobody knows whether it is a net, or makes one?"""
    given = node.args or node.keywords or thing.cls is not None or thing.built
    return "" if given else RECIPE


def _labelled(node: ast.Call) -> bool:
    """Does a model get the labels, so that it computes its loss itself?"""
    return any(k.arg in (None, "labels") for k in node.keywords)
