"""What calls give and do: of torch, of optimizers and scalers, of models and tensors."""

from __future__ import annotations

import ast
import re

from gradledger.ledger.events import Keep, Release, Schedule, Sync, Update, Weight
from gradledger.ledger.values import replace
from gradledger.static.lowering import facts, sizes
from gradledger.static.lowering.blocks import NOTHING, sequence
from gradledger.static.lowering.effects import (
    Clears,
    Clips,
    Deposits,
    Edits,
    Excuses,
    HandsOver,
    Reads,
    Spends,
    Unscales,
)
from gradledger.static.lowering.expressions import LABELLED, named_by
from gradledger.static.lowering.inlining import Arguments, Inlining
from gradledger.static.lowering.values import (
    NO_KEYS,
    NONE,
    PLAIN,
    UNKNOWN,
    ClassDef,
    Constant,
    External,
    FunctionDef,
    Gradients,
    Imported,
    Items,
    Known,
    Optimizer,
    Parameters,
    Scaler,
    Scheduler,
    Thing,
    is_plain,
    kept_in,
    optimizers_in,
    reach_of,
)
from gradledger.static.lowering.weights import MEAN, SUM, divided, of_reduction
from gradledger.static.program import Branch, Loop

APEX = "amp"
"""The scaler that apex keeps to itself."""


class Calls(Inlining):
    """Calls, by what is called."""

    def call(self, node: ast.Call) -> Known:
        """What the call gives; its effects are written down on the way."""
        func = node.func
        if isinstance(func, ast.Attribute):
            if _is_super(func.value):
                return self._call_super(func.attr, node)
            base = self.eval(func.value)
            return self._call_method(base, func.attr, node)
        return self.call_value(self.eval(func), node)

    def arguments(self, node: ast.Call) -> Arguments:
        """The values that a call hands over."""
        positional: list[Known] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                value = self.eval(argument.value)
                positional += value.values if isinstance(value, Items) else (value,)
            else:
                positional.append(self.used(argument))
        named = {k.arg or "**": self.used(k.value) for k in node.keywords}
        return Arguments(tuple(positional), named)

    def call_value(self, callee: Known, node: ast.Call) -> Known:
        """Calls a value."""
        match callee:
            case External(dotted):
                return self._call_external(dotted, node)
            case FunctionDef():
                return self.call_function(callee, self.arguments(node), node)
            case ClassDef():
                return self.instantiate(callee, self.arguments(node), node)
            case Thing():
                return self._call_thing(callee, node)
            case Parameters() | Gradients() | Imported():
                self.arguments(node)
                return UNKNOWN
            case _:
                return self.opaque("", self.arguments(node), node)

    # Methods

    def _call_method(self, base: Known, name: str, node: ast.Call) -> Known:
        base = self.with_role(base, name, node)
        match base:
            case Optimizer():
                return self._of_optimizer(base, name, node)
            case Scaler():
                return self._of_scaler(base, name, node)
            case Scheduler():
                return self._of_scheduler(base, name, node)
            case Parameters():
                return self._of_parameters(base, name, node)
            case Gradients():
                return self._of_gradients(base, name, node)
            case Items():
                return self._of_items(base, name, node)
            case Thing():
                return self._of_tensor_or_object(base, name, node)
            case External(dotted):
                return self._call_external(f"{dotted}.{name}", node)
            case Constant():
                arguments = self.arguments(node)
                if base == NONE:
                    # Given later, by code that is out of sight.
                    self.watch_strangers(name, None, arguments, node, anybody=True)
                return PLAIN
            case _:
                return self.call_value(self.member(base, name, node), node)

    def with_role(self, base: Known, method: str, node: ast.Call) -> Known:
        """A thing from outside, taken for what its name and its use in the file say it is."""
        if not isinstance(base, Thing) or not base.key or base.cls is not None or base.plain:
            return base
        assert isinstance(node.func, ast.Attribute)
        target = node.func.value
        if base.built.startswith("deepspeed") or self.grad_fn_like(base):
            return base
        role = self.uses().role(_terminal(target) or base.key) or self.uses().role(base.key)
        made: Known
        match role:
            case "optimizer" if method in ROLE_METHODS or self.uses().steps(_terminal(target)):
                keys = self.keys_of(base) if base.reach else None
                keys = frozenset(k for k in keys or () if self.is_model(k)) or None
                made = Optimizer("", keys, self.at(node), outside=True)
            case "scaler" if method in ("scale", "step", "update", "unscale_"):
                made = Scaler("")
            case "scheduler" if method == "step" and _moves_a_rate(node):
                made = Scheduler("", tuple(self.optimizers))
            case _:
                return base
        return self.bind_role(base.key, made, target)

    def grad_fn_like(self, thing: Thing) -> bool:
        """Is it surely a tensor?"""
        return thing.sure and bool(thing.reach)

    def bind_role(self, key: str, made: Known, target: ast.expr) -> Known:
        """Remembers what a thing from outside turned out to be."""
        shown = re.sub(r"\w+#\d+:?", "", key) or ast.unparse(target)
        if isinstance(made, Optimizer):
            made = self._register(replace(made, name=shown, key=key))
        elif isinstance(made, Scaler | Scheduler):
            made = replace(made, name=shown, key=key)
        self.store[key] = made
        self.rebind(target, made)
        return made

    def backwarded(self) -> set[str]:
        """Names on which this function calls backward."""
        raise NotImplementedError

    def rebind(self, target: ast.expr, value: Known) -> None:
        """Changes what a name stands for, without a new value being assigned."""
        raise NotImplementedError

    def _of_optimizer(self, optimizer: Optimizer, name: str, node: ast.Call) -> Known:
        if name == "step":
            self._step(optimizer, node)
        elif name in ("zero_grad", "clear_grad", "reset_grad"):
            arguments = self.arguments(node)
            to_none = arguments.get(0, "set_to_none")
            none = not (isinstance(to_none, Constant) and to_none.value is False)
            self.clear(node, optimizer=optimizer.name, to_none=none)
        elif name in ("first_step", "ascent_step", "perturb"):
            # SAM: climbs by the gradients of the first pass, which are no update.
            self.emit(Reads(self.at(node), optimizer=optimizer.name))
            self._clear_if_asked(optimizer, node)
        elif name in ("second_step", "descent_step"):
            self.emit(Spends(self.at(node), optimizer=optimizer.name))
            self._clear_if_asked(optimizer, node)
        elif name == "add_param_group":
            keys = self.keys_of(self.arguments(node).get(0, "param_group") or UNKNOWN)
            if optimizer.keys is not None:
                self._register(replace(optimizer, keys=optimizer.keys | keys))
        elif name == "backward":  # fp16 wrappers of optimizers
            loss = self.arguments(node).get(0, "loss") or UNKNOWN
            self.deposit(loss, node)
        elif name in ("clip_master_grads", "clip_grad_norm"):
            self.arguments(node)
            self.emit(Clips(self.at(node), optimizer=optimizer.name))
        elif name not in facts.OPTIMIZER_HARMLESS:
            self.arguments(node)
            self.hand_over(optimizer.name, node, f"{optimizer.name}.{name}()")
            return UNKNOWN
        else:
            self.arguments(node)
        return PLAIN

    def _clear_if_asked(self, optimizer: Optimizer, node: ast.Call) -> None:
        asked = self.arguments(node).get(0, "zero_grad")
        if isinstance(asked, Constant) and asked.value:
            self.clear(node, optimizer=optimizer.name)

    def _step(self, optimizer: Optimizer, node: ast.Call) -> None:
        arguments = self.arguments(node)
        closure = arguments.get(0, "closure")
        if isinstance(closure, Thing | External) and not isinstance(closure, Constant):
            self.hand_over(optimizer.name, node, "a closure that cannot be followed")
            return
        if not isinstance(closure, FunctionDef):
            self.spend(node, optimizer.name)
            return

        def once() -> None:
            self.call_function(closure, Arguments(), node)
            self.spend(node, optimizer.name)

        block = self.block(once)
        self.out.append(Loop(block, at_least=1) if optimizer.closure_loops else block)

    def spend(self, node: ast.AST, optimizer: str, *, scaler: str | None = None) -> None:
        """A step, if the framework around lets it happen."""
        self._if_syncing(Spends(self.at(node), optimizer=optimizer, scaler=scaler))

    def clear(self, node: ast.AST, *, optimizer: str = "", to_none: bool = True) -> None:
        """A clear by an optimizer, if the framework around lets it happen."""
        self._if_syncing(Clears(self.at(node), optimizer=optimizer, to_none=to_none))

    def _if_syncing(self, effect: Spends | Clears | Schedule) -> None:
        if not self.accumulating:
            self.emit(effect)
            return
        block = self.block(lambda: self.emit(effect))
        self.out.append(Branch(block, NOTHING, self.accumulating))

    def _of_scaler(self, scaler: Scaler, name: str, node: ast.Call) -> Known:
        arguments = self.arguments(node)
        first = arguments.get(0, "")
        if name == "scale":
            if isinstance(first, Items):
                values = tuple(_scaled(v, scaler) for v in first.values)
                return replace(first, values=values)
            return _scaled(first or UNKNOWN, scaler)
        optimizer = None
        if name in ("unscale_", "step") and node.args:
            optimizer = self.as_optimizer(first, node.args[0])
        if name == "unscale_" and optimizer:
            if scaler.enabled:
                self.emit(Unscales(self.at(node), optimizer=optimizer.name, scaler=scaler.name))
        elif name == "step" and optimizer:
            self.spend(node, optimizer.name, scaler=scaler.name if scaler.enabled else None)
        elif name == "update" and scaler.enabled:
            self.emit(Update(self.at(node), scaler.name))
        return PLAIN

    def as_optimizer(self, value: Known | None, node: ast.expr) -> Optimizer | None:
        """The value as an optimizer, if it can only be one."""
        if isinstance(value, Optimizer):
            return value
        if isinstance(value, Thing) and value.key and not value.plain:
            made = Optimizer("", None, self.at(node), outside=True)
            bound = self.bind_role(value.key, made, node)
            return bound if isinstance(bound, Optimizer) else None
        return None

    def _of_scheduler(self, scheduler: Scheduler, name: str, node: ast.Call) -> Known:
        self.arguments(node)
        if name == "step" and _moves_a_rate(node):
            for optimizer in scheduler.optimizers:
                event = Schedule(self.at(node), scheduler.name, optimizer)
                if scheduler.prepared or scheduler.key:
                    self._if_syncing(event)
                else:
                    self.emit(event)
        return PLAIN

    def _of_parameters(self, parameters: Parameters, name: str, node: ast.Call) -> Known:
        arguments = self.arguments(node)
        if name.startswith("register_post_accumulate"):
            self.hooked = True
            return PLAIN
        if name == "requires_grad_":
            self.freeze(parameters.keys, arguments.get(0, "requires_grad") or Constant.of(True))
            return parameters
        if name in ("backward",):
            return PLAIN
        if name.endswith("_") and not name.endswith("__"):
            if self.reads_gradient(node):
                self.emit(Spends(self.at(node), *named_by(parameters)))
            return parameters
        if name in ("extend", "append", "items", "values", "named_parameters", "parameters"):
            return parameters
        return PLAIN if name in facts.DETACHING else Thing(reach=parameters.keys, leaf=True)

    def _of_gradients(self, gradients: Gradients, name: str, node: ast.Call) -> Known:
        arguments = self.arguments(node)
        keys, optimizer, leaf = named_by(gradients.of)
        at = self.at(node)
        first = arguments.get(0, "")
        if name == "zero_" or (name == "fill_" and first in (Constant.of(0), Constant.of(0.0))):
            needed = self._surely_made(keys)
            if self.partly:
                self.emit(Edits(at, keys, optimizer, leaf, "change"))
                return gradients
            self.emit(Clears(at, keys, optimizer, leaf, to_none=False, needed=needed))
        elif name == "detach_":
            pass
        elif name in ("div_", "mul_"):
            number = first.value if isinstance(first, Constant) else None
            factor = None
            if isinstance(number, int | float) and number:
                factor = 1 / number if name == "div_" else float(number)
            self.emit(Edits(at, keys, optimizer, leaf, "scale", factor))
        elif name.endswith("_") and not name.endswith("__"):
            self.emit(Edits(at, keys, optimizer, leaf, "change"))
        elif name in ("data", "detach", "requires_grad_"):
            return gradients
        else:
            self.emit(Reads(at, keys, optimizer, leaf, needed=self._surely_made(keys)))
            return PLAIN
        return gradients

    def _surely_made(self, keys: frozenset[str]) -> bool:
        """Does the code make all of these itself, and not ask whether they have a gradient?"""
        if self.guarded:
            return False
        for key in keys:
            made = self.store.get(key) or self.store.get(re.split(r"[.\[]", key)[0])
            if not isinstance(made, Thing) or not (made.leaf or made.built or made.cls):
                return False
        return bool(keys)

    def _of_items(self, items: Items, name: str, node: ast.Call) -> Known:
        arguments = self.arguments(node)
        if name in ("append", "add") and arguments.positional:
            self._put_into(node, arguments.positional[0])
            return PLAIN
        if name == "extend" and arguments.positional:
            self._put_into(node, arguments.positional[0])
            return PLAIN
        if name == "clear":
            self.release(kept_in(items), node)
            return PLAIN
        if name in ("values", "copy"):
            return Items(items.values)
        if name == "items":
            pairs = zip(items.names, items.values, strict=False)
            return Items(tuple(Items((Constant.of(k), v)) for k, v in pairs))
        if name == "keys":
            return PLAIN
        if name in ("get", "pop") and items.names:
            key = arguments.get(0, "")
            for known, value in zip(items.names, items.values, strict=False):
                if isinstance(key, Constant) and known == key.value:
                    return value
        if name == "pop" and items.values:
            return items.values[-1]
        return UNKNOWN

    def _put_into(self, node: ast.Call, value: Known) -> None:
        """A list gets one more: parameters, optimizers, losses with their graph."""
        assert isinstance(node.func, ast.Attribute)
        target = node.func.value
        held = self.eval(target)
        values = held.values if isinstance(held, Items) else ()
        kept = self._keep(value, node, target)
        if kept:
            value = replace(value, kept=value.kept | kept) if isinstance(value, Thing) else value
        if len(values) < 8 and value not in values:
            self.rebind(target, Items((*values, value)))

    def _keep(self, value: Known, node: ast.AST, target: ast.expr) -> frozenset:  # type: ignore[type-arg]
        if not self.loops or not isinstance(value, Thing) or not value.sure or value.plain:
            return frozenset()
        name = value.key.rpartition(".")[2].rpartition(":")[2]
        if name not in self.backwarded() and "loss" not in name.lower():
            return frozenset()  # tensors are kept for many reasons; losses for their value alone
        if value.key and any(
            name.startswith(value.key + "[") and is_plain(held) for name, held in self.store.items()
        ):
            return frozenset()  # a part of it was detached
        at = self.at(node)
        self.emit(Keep(at, "loss"))
        return frozenset({at})

    def release(self, places: frozenset, node: ast.AST) -> None:  # type: ignore[type-arg]
        """What was kept at these places is let go."""
        for place in sorted(places, key=lambda p: p.sort_key):
            self.emit(Release(self.at(node), place))

    def _of_tensor_or_object(self, thing: Thing, name: str, node: ast.Call) -> Known:
        if name == "backward":
            return self._backward(thing, node)
        if thing.plain and thing.shape and name in sizes.METHODS:
            return self._of_data(thing, name, node)
        if thing.cls is not None:
            method = self.method(thing.cls, name)
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
            if thing.key:
                self.emit(Clears(self.at(node), self.keys_named(thing)))
            return PLAIN
        clips = name in ("clip_grad_norm_", "clip_grad_norm")  # of a model under FSDP
        if clips and thing.key and self.is_model(thing.key):
            self.arguments(node)
            self.emit(Clips(self.at(node), self.keys_named(thing)))
            return PLAIN
        if name == "requires_grad_":
            value = self.arguments(node).get(0, "requires_grad") or Constant.of(True)
            if thing.plain or not thing.key:
                leaf = replace(thing, plain=False, leaf=True, reach=NO_KEYS)
                if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
                    leaf = replace(leaf, key=self.scope.id + node.func.value.id)
                    self.rebind(node.func.value, leaf)
                return leaf
            if value == Constant.of(True) and not self.is_model(thing.key):
                return replace(thing, plain=False, leaf=True)
            self.freeze(frozenset({thing.key}), value)
            return thing
        if name in facts.SELF_RETURNING:
            self.arguments(node)
            return PLAIN if thing.sure and thing.reach and not self.grad_enabled else thing
        if name in facts.DETACHING:
            arguments = self.arguments(node)
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
        return Thing(plain=True, shape=shape) if shape else PLAIN

    def _of_anything(self, thing: Thing, name: str, node: ast.Call) -> Known:
        framework = self.framework_call(thing, name, node)
        if framework is not None:
            return framework
        arguments = self.arguments(node)
        if name in ("append", "extend") and arguments.positional:
            self._put_into(node, arguments.positional[0])
            return PLAIN
        if name in ("clear",):
            self.release(thing.kept, node)
        self.watch_strangers(f"{thing.key}.{name}", thing, arguments, node)
        if thing.plain and not optimizers_in(Items(arguments.positional)):
            return self.computed(*arguments.values(), sure=False)
        tensor = thing.sure and not self.is_model(thing.key)
        return self.computed(thing, *arguments.values(), sure=tensor)

    def keys_named(self, thing: Thing) -> frozenset[str]:
        """A model by its own key, and by those of the models that it was made of."""
        keys = {thing.key} if thing.key else set()
        if not thing.sure:
            keys |= {k for k in thing.reach if self.is_model(k)} if thing.key else thing.reach
        if thing.cls is not None or thing.key == "self":
            start = thing.key + "."
            for name, value in self.store.items():
                if not name.startswith(start) or not isinstance(value, Thing) or value.plain:
                    continue
                if value.key not in ("", name) and not thing.key.startswith(value.key):
                    keys.add(value.key)
        return frozenset(keys)

    def framework_call(self, thing: Thing, name: str, node: ast.Call) -> Known | None:
        """Calls of objects that frameworks give: engines, accelerators, fabrics."""
        raise NotImplementedError

    # Backward

    def _backward(self, thing: Thing, node: ast.Call) -> Known:
        arguments = self.arguments(node)
        loss = arguments.get(0, "loss")
        if loss is not None and not isinstance(loss, Thing):
            loss = UNKNOWN
        if isinstance(loss, Thing) and self._is_engine(thing, loss):
            return self._engine_backward(thing, loss, node)
        self.deposit(thing, node, arguments)
        return PLAIN

    def _is_engine(self, thing: Thing, loss: Thing) -> bool:
        """Is it an object that runs the backward of a loss it is given, and no loss itself?"""
        if thing.built.startswith(("deepspeed", "gradledger")):
            return True
        if thing.sure or thing.leaf:
            return False
        if "loss" in thing.key.rpartition(".")[2].lower():
            return False
        return not thing.reach or bool(loss.sure and not thing.sure)

    def _engine_backward(self, engine: Thing, loss: Thing, node: ast.Call) -> Known:
        raise NotImplementedError

    def deposit(
        self, loss: Known, node: ast.AST, arguments: Arguments | None = None, **more: object
    ) -> None:
        """A backward pass from a loss."""
        arguments = arguments or Arguments()
        if isinstance(loss, Items):
            things = [v for v in loss.values if isinstance(v, Thing)]
            loss = self.computed(*things) if things else UNKNOWN
        if not isinstance(loss, Thing) or (loss.plain and not loss.key):
            loss = UNKNOWN
        inputs = arguments.named.get("inputs")
        reach = self.keys_of(inputs) if inputs is not None else reach_of(loss)
        retain = arguments.named.get("retain_graph")
        create = arguments.named.get("create_graph")
        effect = Deposits(
            self.at(node),
            reach,
            frozen=self.frozen,
            weight=loss.weight,
            scaler=loss.scaler,
            local=self._locality(loss, reach),
            retains=retain == Constant.of(True)
            and create is None
            and loss.depth == len(self.loops)
            and all(map(self.forgets_its_graph, reach)),
            walks=loss.kept | loss.carried,
            maybe=loss.maybe if inputs is None else NO_KEYS,
        )
        self.emit(replace(effect, **more) if more else effect)
        if retain is not None or create is not None:
            # The graph is walked again: this pass may be for hooks, or for a penalty.
            self.emit(Excuses(self.at(node), reach))
        self.backwards += 1

    def forgets_its_graph(self, key: str) -> bool:
        """Is it surely a model of which no call leaves a graph behind in it?"""
        thing = self.store.get(key)
        if not isinstance(thing, Thing):
            return False
        if thing.cls is None:
            return thing.built.startswith("torch.nn.")
        forward = self.method(thing.cls, "forward")
        return forward is not None and not re.search(
            r"self\.\w+(?:\[[^][]*\])?\s*=|self\.\w+\.append", forward.module.text(forward.node)
        )

    def _locality(self, loss: Thing, reach: frozenset[str]) -> bool | None:
        if loss.local and self.local:
            return True
        replicated = any(
            isinstance(value := self.store.get(key), Thing) and value.replicated for key in reach
        )
        return False if replicated and not self.no_sync_maybe else None

    # Things that are called

    def _call_thing(self, thing: Thing, node: ast.Call) -> Known:
        arguments = self.arguments(node)
        if thing.cls is not None:
            method = self.method(thing.cls, "__call__")
            if method is not None and self.is_interesting(method):
                return self.call_function(replace(method, bound=thing), arguments, node)
        self.watch_strangers(thing.key, thing, arguments, node)
        model = self.is_model(thing.key) or thing.built.startswith("torch.nn.")
        made = self.computed(thing, *arguments.values(), sure=False)
        if not made.plain:
            reach = made.reach | reach_of(thing)
            made = replace(made, reach=reach, maybe=made.maybe - reach)
        if thing.cls is not None and not made.plain:
            made = replace(made, reach=made.reach | self.keys_named(thing))
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
        return replace(
            made,
            sure=sure and model,
            carried=carried,
            weight=weight,
            local=bool(self.local),
            depth=min(depths, default=len(self.loops)),
            built=LABELLED if _labelled(node) and model else "",
        )

    def _losses_of(
        self, thing: Thing, arguments: Arguments, made: Thing, node: ast.Call
    ) -> Known | None:
        """What a model's own forward returns, where it computes the loss itself."""
        forward = self.method(thing.cls, "forward") if thing.cls is not None else None
        if forward is None or not LOSSES.search(forward.module.text(forward.node)):
            return None
        self.known.interesting[id(forward.node)] = True
        before = self.inlined.copy(), len(self.unknown)
        value = self.quietly(
            lambda: self.call_function(replace(forward, bound=thing), arguments, node)
        )
        self.inlined, self.unknown = before[0], self.unknown[: before[1]]

        def as_output(part: Known) -> Known:
            weight = part.weight if isinstance(part, Thing) else made.weight
            return replace(made, weight=weight, sure=True, local=bool(self.local))

        if isinstance(value, Items) and not value.names:
            return Items(tuple(map(as_output, value.values)))
        return as_output(value) if isinstance(value, Thing) else None

    def is_model(self, key: str) -> bool:
        """Is what this key names surely a model? By its class, or by what the file does with it."""
        value = self.store.get(key)
        if isinstance(value, Thing):
            if value.cls is not None:
                bases = self.bases_outside(value.cls)
                return any("Module" in base for base in bases)
            if value.built.startswith("torch.nn."):
                return True
        methods = self.uses().of(key.rpartition(".")[2].rpartition(":")[2])
        return bool(methods & {"parameters", "named_parameters", "eval", "no_sync"})

    # Names from outside

    def _call_external(self, dotted: str, node: ast.Call) -> Known:
        name = facts.last(dotted)
        if name == "partial" and node.args:
            function = self.eval(node.args[0])
            rest = tuple(map(self.eval, node.args[1:]))
            if isinstance(function, FunctionDef):
                return replace(function, preset=(*function.preset, *rest))
            return function
        if name.startswith("_foreach_") and node.args:
            return self._foreach(name, node)
        if dotted == "builtins.getattr" and len(node.args) >= 2:
            return self._by_name(node)
        if name == "import_module" and node.args and isinstance(node.args[0], ast.Constant):
            return External(str(node.args[0].value))
        arguments = self.arguments(node)
        made = self._made_outside(dotted, name, arguments, node)
        if made is not None:
            return made
        self.watch_strangers(dotted, None, arguments, node)
        if dotted.partition(".")[0] in ("numpy", "np", "math", "random", "os", "time", "json"):
            return PLAIN
        if name in facts.PLAIN_FUNCTIONS:
            return PLAIN
        if name in facts.MEAN_FUNCTIONS:
            made = self.computed(*arguments.values())
            return replace(made, weight=of_reduction(arguments.named, _mean(node)))
        torch = dotted.startswith(("torch.", "F.", "einops."))
        if _requires_grad(arguments) or name == "Parameter":
            return Thing(leaf=True, built=dotted)
        if torch and name in FROM_DATA:
            return PLAIN
        if name in ("deepcopy", "copy") and isinstance(first := arguments.get(0, ""), Thing):
            return Thing(plain=first.plain, cls=first.cls, built=first.built or dotted)
        if torch and name in sizes.CREATORS:
            return Thing(plain=True, shape=sizes.created(name, arguments))
        if name in sizes.DATASETS:
            return Thing(plain=True, shape=sizes.shape_of(arguments.get(0, ""))[:1])
        if name == "DataLoader":
            return Thing(plain=True, shape=sizes.batched(arguments))
        if torch and dotted.startswith("torch.nn.") and name[:1].isupper():
            weight = _mean(node) if name in facts.MEAN_MODULES else Thing().weight
            return Thing(built=dotted, weight=of_reduction(arguments.named, weight))
        made = self.computed(*arguments.values(), sure=torch)
        if name in ("mean",) and torch:
            return replace(made, weight=MEAN)
        if torch and made.plain:
            return PLAIN
        return replace(made, built=dotted) if not made.plain else Thing(built=dotted)

    def _by_name(self, node: ast.Call) -> Known:
        """`getattr(torch.optim, name)`: some class of that module."""
        base, name = self.eval(node.args[0]), self.eval(node.args[1])
        if isinstance(name, Constant) and isinstance(name.value, str):
            found = self.member(base, name.value, node)
            if isinstance(found, Thing) and len(node.args) > 2:
                return Thing()
            return found
        if isinstance(base, Optimizer):
            self.hand_over(base.name, node, "a method that is chosen by name")
        if isinstance(base, External):
            return External(f"{base.dotted}.Chosen")
        return Thing(reach=reach_of(base))

    def _passed_on(self, name: str, arguments: Arguments) -> Known:
        """`list(parameters)`, `filter(f, parameters)`, `chain(a, b)`: the same in another dress."""
        values = arguments.positional[1:] if name in ("filter", "map") else arguments.positional
        values = tuple(
            inner
            for value in values
            for inner in (value.values if isinstance(value, Items) else (value,))
        )
        if any(isinstance(v, Parameters) for v in values):
            found = [v for v in values if isinstance(v, Parameters)]
            return Parameters(
                NO_KEYS.union(*map(self.keys_of, values)),
                frozenset().union(*(p.of for p in found)),
            )
        first = arguments.positional[-1] if arguments.positional else Items(())
        if isinstance(first, Thing) and first.plain:
            return first
        return first if len(arguments.positional) < 2 or name == "filter" else Items(values)

    def _foreach(self, name: str, node: ast.Call) -> Known:
        """`torch._foreach_zero_(gradients)`: what is done to each, done to all at once."""
        first = self.eval(node.args[0])
        for argument in node.args[1:]:
            self.eval(argument)
        if isinstance(first, Gradients):
            keys, optimizer, leaf = named_by(first.of)
            if name == "_foreach_zero_":
                self.emit(Clears(self.at(node), keys, optimizer, leaf, to_none=False))
            else:
                self.emit(Edits(self.at(node), keys, optimizer, leaf, "change"))
        elif isinstance(first, Parameters) and self.reads_gradient(node):
            self.emit(Spends(self.at(node), *named_by(first)))
        return PLAIN

    def _made_outside(
        self, dotted: str, name: str, arguments: Arguments, node: ast.Call
    ) -> Known | None:
        first = arguments.get(0, "")
        if facts.SCALER.search(dotted):
            enabled = arguments.named.get("enabled")
            return Scaler("", enabled=enabled != Constant.of(False))
        if facts.is_scheduler(dotted):
            return self._scheduler(arguments)
        if facts.is_optimizer_class(dotted):
            return self._optimizer(dotted, name, arguments, node)
        if (name in PASSING and dotted == f"builtins.{name}") or name in CHAINING:
            return self._passed_on(name, arguments)
        if name == "enumerate":
            return Thing(plain=True, built="builtins.enumerate", shape=sizes.shape_of(first))
        counted = isinstance(first, Thing) and first.built == "builtins.enumerate"
        if counted and name in facts.ITERATION_WRAPPERS:
            return first
        if name in facts.WRAPPERS and isinstance(first, Thing | Optimizer | Items):
            return self._wrapped(name, arguments, first)
        if name.startswith(("clip_grad", "clip_gradients")):
            self._clip(arguments, node)
            return PLAIN
        if name == "get_total_norm" or name == "get_grad_norm":
            self.emit(Reads(self.at(node), self.keys_of(first or UNKNOWN)))
            return PLAIN
        if dotted.endswith("autograd.backward"):
            self.deposit(first or UNKNOWN, node, Arguments((), arguments.named))
            return PLAIN
        if dotted.endswith("autograd.grad"):
            return replace(self.computed(*arguments.values()), sure=False)
        if name in ("_foreach_zero_",) and isinstance(first, Gradients | Items):
            return PLAIN
        if name in ("scale_loss",):
            return None
        return self.framework_made(dotted, arguments, node)

    def framework_made(self, dotted: str, arguments: Arguments, node: ast.Call) -> Known | None:
        """What a framework's function gives."""
        raise NotImplementedError

    def _optimizer(self, dotted: str, name: str, arguments: Arguments, node: ast.Call) -> Known:
        first = arguments.get(0, "params")
        inner = first if isinstance(first, Optimizer) else None
        if inner is None and isinstance(arguments.named.get("optimizer"), Optimizer):
            inner = arguments.named["optimizer"]  # type: ignore[assignment]
        if inner is not None:
            return inner
        keys = self.keys_of(first) if first is not None else frozenset()
        made = [self.store.get(key) for key in keys]
        return Optimizer(
            "",
            keys or None,
            self.at(node),
            closure_loops=name == "LBFGS",
            built=dotted,
            tensors=bool(made) and all(isinstance(m, Thing) and m.leaf for m in made),
        )

    def _scheduler(self, arguments: Arguments) -> Known:
        found = [o.name for v in arguments.values() for o in optimizers_in(v) if o.name]
        return Scheduler("", tuple(dict.fromkeys(found)))

    def _wrapped(self, name: str, arguments: Arguments, first: Known) -> Known:
        if name in ("prepare", "setup") and len(arguments.positional) > 1:
            return Items(arguments.positional)
        if name in facts.REPLICATING and isinstance(first, Thing):
            return replace(first, replicated=True)
        return first

    def _clip(self, arguments: Arguments, node: ast.Call) -> None:
        for value in arguments.positional[:2]:
            if isinstance(value, Parameters) and value.of and not value.keys:
                self.emit(Clips(self.at(node), optimizer=min(value.of)))
                return
            if isinstance(value, Optimizer):
                self.emit(Clips(self.at(node), optimizer=value.name))
                return
        first = arguments.get(0, "parameters")
        keys = self.keys_of(first) if first is not None else NO_KEYS
        self.emit(Clips(self.at(node), keys))

    # Code that cannot be followed

    def opaque(self, name: str, arguments: Arguments, node: ast.AST) -> Known:
        """The result of a call that cannot be followed."""
        self.watch_strangers(name, None, arguments, node)
        made = self.computed(*arguments.values(), sure=False)
        return made if not made.plain or not name else Thing()

    def watch_strangers(
        self,
        name: str,
        owner: Thing | None,
        arguments: Arguments,
        node: ast.AST,
        *,
        anybody: bool = False,
    ) -> None:
        """Takes note where code that cannot be followed gets hold of gradients."""
        short = facts.last(name)
        if facts.ATTACKS.search(short) or (anybody and facts.SUSPICIOUS.search(short)):
            self.emit(HandsOver(self.at(node)))
            self.note_unknown(node, f"{short}() cannot be followed")
            return
        handed = [o for v in arguments.values() for o in optimizers_in(v) if o.name]
        if handed and not facts.HARMLESS_TO_OPTIMIZERS.search(short):
            for optimizer in handed:
                self.hand_over(optimizer.name, node, f"{short}()")
        elif owner is not None and owner.key and facts.SUSPICIOUS.search(short):
            for optimizer in self.optimizers.values():
                if self.holds(owner.key, optimizer):
                    self.hand_over(optimizer.name, node, f"{short}()")
        elif facts.SUSPICIOUS.search(short) and not name.startswith("torch."):
            models = NO_KEYS.union(*map(reach_of, arguments.values()))
            for optimizer in self.optimizers.values():
                if optimizer.keys and models & optimizer.keys and "loss" not in short.lower():
                    self.hand_over(optimizer.name, node, f"{short}()")

    def holds(self, key: str, optimizer: Optimizer) -> bool:
        """Does the object that the key names have this optimizer as an attribute?"""
        return any(
            isinstance(value, Optimizer) and value.name == optimizer.name
            for name, value in self.store.items()
            if name.startswith(key + ".")
        )

    def hand_over(self, optimizer: str, node: ast.AST, what: str) -> None:
        """Gradients are in the hands of code that cannot be followed."""
        self.emit(HandsOver(self.at(node), optimizer=optimizer))
        self.note_unknown(node, f"{what} cannot be followed, and gets {optimizer}")

    def freeze(self, keys: frozenset[str], value: Known) -> None:
        """`requires_grad` is set for what these keys name."""
        if isinstance(value, Constant):
            if value.value:
                # What is frozen but for a part is not frozen.
                self.frozen = frozenset(
                    k
                    for k in self.frozen
                    if not any(_within(k, key) or _within(key, k) for key in keys)
                )
            else:
                self.frozen |= keys

    def reads_gradient(self, node: ast.AST) -> bool:
        """Is there a `.grad` in what is being computed?"""
        if ".grad" not in self.scope.module.text(node):
            return False
        return any(
            isinstance(inner, ast.Attribute) and inner.attr == "grad" for inner in ast.walk(node)
        )

    def _call_super(self, name: str, node: ast.Call) -> Known:
        scope = self.scope
        arguments = self.arguments(node)
        if isinstance(scope.cls, ClassDef) and isinstance(scope.self_value, Thing):
            start = scope.self_value.cls or scope.cls
            method = self.method(start, name, after=scope.cls)
            if method is not None:
                return self.call_function(replace(method, bound=scope.self_value), arguments, node)
            if name != "__init__":
                self.watch_strangers(f"super.{name}", scope.self_value, arguments, node)
        return UNKNOWN


LOSSES = re.compile(r"cross_entropy|_loss\(|Loss\(|loss_fn|criterion")
FROM_DATA = frozenset(
    [
        "tensor",
        "as_tensor",
        "from_numpy",
        "FloatTensor",
        "LongTensor",
        "Tensor",
        "DoubleTensor",
        "ByteTensor",
        "BoolTensor",
        "IntTensor",
        "HalfTensor",
    ]
)
"""They make tensors of data, without a graph."""
PASSING = frozenset(["list", "tuple", "iter", "next", "sorted", "set", "reversed", "filter"])
CHAINING = frozenset(["chain", "from_iterable"])
ROLE_METHODS = frozenset(
    ["step", "zero_grad", "scale", "unscale_", "update", "first_step", "second_step"]
)


def _mean(node: ast.Call) -> Weight:
    """A mean over a batch; over what is not padding, if that is left out."""
    padded = any(
        k.arg == "ignore_index" and "pad" in ast.unparse(k.value).lower() for k in node.keywords
    )
    return replace(MEAN, items_vary=padded)


def _labelled(node: ast.Call) -> bool:
    """Does a model get the labels, so that it computes its loss itself?"""
    return any(k.arg in (None, "labels") for k in node.keywords)


def _moves_a_rate(node: ast.Call) -> bool:
    """Is it the step of a learning-rate scheduler, and not of a diffusion process?"""
    known = {"epoch", "metrics", None}
    return len(node.args) <= 1 and all(k.arg in known for k in node.keywords)


def _terminal(node: ast.expr) -> str:
    """The name that a person would call it by."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return _terminal(node.value)
    return getattr(node, "id", "")


def _within(key: str, whole: str) -> bool:
    return key == whole or key.startswith((whole + ".", whole + "["))


def _scaled(value: Known, scaler: Scaler) -> Known:
    if isinstance(value, Thing) and scaler.enabled:
        return replace(value, scaler=scaler.name, key=value.key)
    return value


def _requires_grad(arguments: Arguments) -> bool:
    return arguments.named.get("requires_grad") == Constant.of(True)


def _is_super(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )


__all__ = ["APEX", "Calls", "Sync", "is_plain", "sequence"]
