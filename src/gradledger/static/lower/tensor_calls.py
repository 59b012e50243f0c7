"""What methods of tensors and objects give and do."""

from __future__ import annotations

from gradledger.ledger.events import UNKNOWN_WEIGHT
from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    NONE,
    PLAIN,
    UNKNOWN,
    Constant,
    Items,
    Known,
    Parameters,
    Thing,
    optimizers_in,
)
from gradledger.static.domain.weights import MEAN, SUM, divided
from gradledger.static.ir.effects import Clears, Clips
from gradledger.static.ir.keys import NO_KEYS
from gradledger.static.lower import loader_sizes
from gradledger.static.lower.module_calls import NetCalls
from gradledger.static.models import facts, graphless
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

PUTTING_BACK = ("load_state_dict", "set_param", "set_weight", "restore_param", "restore_weight")
"""Methods by which a model gets other parameters than the last step gave it."""

KEEPERS = Pattern(r"(?i)pool|buffer|history|memory|replay")
_KEY_ENDS = Pattern(r"[.:]")
"""Names of objects that hand out, without its graph, what they were given: pools of images."""


class TensorCalls(NetCalls):
    """Things: tensors, models, engines, anything."""

    def _of_tensor_or_object(self, thing: Thing, name: str, node: ast.Call) -> Known:
        if name == "backward":
            own = self.method(thing.cls, name) if thing.cls is not None else None
            if own is None or not self.makes_deposits(replace(own, bound=thing)):
                return self._backward(thing, node)
        if thing.plain and thing.shape and name in loader_sizes.METHODS:
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
            return replace(made, weight=MEAN if name == "mean" else SUM, among=thing.among)
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
        if name in loader_sizes.SAME:
            shape = thing.shape
        elif name == "flatten":
            shape = loader_sizes.flattened(thing.shape, arguments)
        elif name == "repeat":
            shape = loader_sizes.repeated(thing.shape, arguments)
        elif name in ("split", "chunk"):
            shape = loader_sizes.cut(name, thing.shape, arguments)
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
        if thing.cls is None and not tensor and KEEPERS.search(_KEY_ENDS.split(thing.key)[-1]):
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


def _may_be_a_list(thing: Thing) -> bool:
    """Does `append` put something into it? A class from outside may as well keep a number."""
    return facts.last(thing.built) in facts.LISTS or not thing.built
