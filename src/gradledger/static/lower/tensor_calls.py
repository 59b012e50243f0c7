"""What methods of tensors and objects give and do."""

from __future__ import annotations

from gradledger.ledger.events import UNKNOWN_WEIGHT
from gradledger.ledger.values import replace
from gradledger.static.domain.contents import optimizers_in
from gradledger.static.domain.values import (
    NONE,
    PLAIN,
    UNKNOWN,
    Constant,
    Items,
    Known,
    Parameters,
    Thing,
)
from gradledger.static.domain.weights import MEAN, SUM
from gradledger.static.ir.effects import Clears, Clips
from gradledger.static.ir.keys import NO_KEYS
from gradledger.static.lower import loader_sizes
from gradledger.static.lower.arithmetic import computed, used
from gradledger.static.lower.attributes import attributes, is_model, member, method_of
from gradledger.static.lower.backward_calls import deposit
from gradledger.static.lower.call_graph import is_interesting, makes_deposits
from gradledger.static.lower.expressions import cut, release
from gradledger.static.lower.inline import call_function
from gradledger.static.lower.item_calls import put_into
from gradledger.static.lower.module_calls import call_object
from gradledger.static.lower.scope_names import file_uses, load
from gradledger.static.lower.unknown_calls import (
    arguments_of,
    freeze,
    keys_named,
    put_back,
    watch_unknown_call,
)
from gradledger.static.lower.value_names import set_mode
from gradledger.static.lower.window_weights import divide
from gradledger.static.models import facts, graphless
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

PUTTING_BACK = ("load_state_dict", "set_param", "set_weight", "restore_param", "restore_weight")
"""Methods by which a model gets other parameters than the last step gave it."""

KEEPERS = Pattern(r"(?i)pool|buffer|history|memory|replay")
_KEY_ENDS = Pattern(r"[.:]")
"""Names of objects that hand out, without its graph, what they were given: pools of images."""


def object_method(machine: Machine, thing: Thing, name: str, node: ast.Call) -> Known:
    """Calls a method of a tensor, a module or any other object."""
    if name == "backward":
        own = method_of(machine, thing.cls, name) if thing.cls is not None else None
        if own is None or not makes_deposits(machine, replace(own, bound=thing)):
            return _call_backward(machine, thing, node)
    if thing.plain and thing.shape and name in loader_sizes.METHODS:
        return _data_method(machine, thing, name, node)
    if name.startswith(PUTTING_BACK) and thing.key:
        put_back(machine, keys_named(machine, thing), node)
    if thing.cls is not None:
        method = method_of(machine, thing.cls, name)
        if name == "forward" and method is not None and not is_interesting(machine, method):
            return call_object(machine, thing, node)  # without its hooks, and else the same
        if method is not None:
            return call_function(
                machine, replace(method, bound=thing), arguments_of(machine, node), node
            )
    known = load(machine, f"{thing.key}.{name}") if thing.key else None
    if known is None and thing.cls is not None and name in attributes(machine, thing.cls):
        known = member(machine, thing, name, node)
    if known is not None:
        return machine.call(known, node)
    if name in ("parameters", "named_parameters"):
        arguments_of(machine, node)
        return Parameters(keys_named(machine, thing))
    if name.endswith(("parameters", "params", "param_groups")) and thing.key:
        arguments_of(machine, node)
        return Parameters(frozenset({f"{thing.key}.{name}()"}))
    if name == "zero_grad":
        arguments_of(machine, node)
        # Of what, nobody may know: that something is cleared here is to be known all the same.
        machine.emit(Clears(machine.at(node), keys_named(machine, thing)))
        return PLAIN
    clips = name in ("clip_grad_norm_", "clip_grad_norm")  # of a model under FSDP
    if clips and thing.key and is_model(machine, thing.key):
        arguments_of(machine, node)
        machine.emit(Clips(machine.at(node), keys_named(machine, thing)))
        return PLAIN
    if name == "requires_grad_":
        value = arguments_of(machine, node).get(0, "requires_grad") or Constant.of(True)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else node
        if thing.plain or not thing.key:
            return to_leaf(machine, thing, owner)
        if value == Constant.of(True) and not is_model(machine, thing.key):
            return replace(thing, plain=False, leaf=True)
        freeze(machine, frozenset({thing.key}), value)
        return thing
    if name in facts.SELF_RETURNING:
        arguments = arguments_of(machine, node)
        if name in ("train", "eval") and thing.key:
            set_mode(machine, thing.key, name, arguments.get(0, "mode"))
        if any(map(graphless.is_of_whole_numbers, arguments.values())):
            return PLAIN
        return PLAIN if thing.sure and thing.reach and not machine.context.grad_enabled else thing
    if name in graphless.DETACHING or (name == "sample" and _is_drawn(machine, thing)):
        arguments = arguments_of(machine, node)
        if name == "detach_" and isinstance(node.func, ast.Attribute):
            cut(machine, node.func.value)
        return PLAIN if not optimizers_in(Items(arguments.positional)) else UNKNOWN
    if name in ("mean", "sum"):
        arguments_of(machine, node)
        made = computed(machine, thing)
        return replace(made, weight=MEAN if name == "mean" else SUM, among=thing.among)
    if name in ("div", "div_", "true_divide") and node.args:
        by = used(machine, node.args[0])
        weight = divide(machine, thing.weight, by, node.args[0], node)
        return replace(thing, key="", weight=weight)
    return _unknown_method(machine, thing, name, node)


def _is_drawn(machine: Machine, thing: Thing) -> bool:
    """Is a sample of it a number? A distribution's is; a model may make one of its own."""
    return thing.cls is None and not is_model(machine, thing.key)


def to_leaf(machine: Machine, thing: Thing, spelled: ast.expr) -> Thing:
    """Data that gets a gradient of its own, under the name that it has."""
    leaf = replace(thing, plain=False, leaf=True, reach=NO_KEYS)
    if isinstance(spelled, ast.Name):
        leaf = replace(leaf, key=machine.context.scope.id + spelled.id)
        machine.rebind(spelled, leaf)
    return leaf


def _data_method(machine: Machine, thing: Thing, name: str, node: ast.Call) -> Known:
    """A method of data whose size is known."""
    arguments = arguments_of(machine, node)
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


def _unknown_method(machine: Machine, thing: Thing, name: str, node: ast.Call) -> Known:
    for handler in machine.libraries.methods:
        given = handler(machine, thing, name, node)
        if given is not None:
            return given
    arguments = arguments_of(machine, node)
    if name in ("append", "extend") and arguments.positional and _may_be_a_list(thing):
        put_into(machine, node, arguments.positional[0])
        return PLAIN
    if name in ("clear",):
        release(machine, thing.kept, node)
    if name in ("register_hook", "register_full_backward_hook", "register_backward_hook"):
        machine.flow = replace(machine.flow, listening=True)
    watch_unknown_call(machine, f"{thing.key}.{name}", thing, arguments, node)
    if thing.plain and not optimizers_in(Items(arguments.positional)):
        return computed(machine, *arguments.values(), sure=False)
    tensor = thing.sure and not is_model(machine, thing.key)
    made = computed(machine, thing, *arguments.values(), sure=tensor)
    if thing.cls is None and not tensor and KEEPERS.search(_KEY_ENDS.split(thing.key)[-1]):
        return replace(made, reach=NO_KEYS, maybe=made.maybe | made.reach)
    return made


def _call_backward(machine: Machine, thing: Thing, node: ast.Call) -> Known:
    arguments = arguments_of(machine, node)
    loss = arguments.get(0, "loss")
    if loss is not None and not isinstance(loss, Thing):
        loss = UNKNOWN
    if isinstance(loss, Thing) and _is_engine(machine, thing, loss):
        given = (back(machine, thing, loss, node) for back in machine.libraries.backward)
        return next((value for value in given if value is not None), PLAIN)
    if arguments.get(0, "gradient") not in (None, NONE):
        thing = replace(thing, weight=UNKNOWN_WEIGHT)
    deposit(machine, thing, node, arguments)
    return PLAIN


def _is_engine(machine: Machine, thing: Thing, loss: Thing) -> bool:
    """Is it an object that runs the backward of a loss it is given, and no loss itself?"""
    if thing.built.startswith(("deepspeed", "gradledger")):
        return True
    name = thing.key.rpartition(".")[2].rpartition(":")[2]
    if "step" in file_uses(machine).of(name):
        return True  # as no tensor does
    if thing.sure or thing.leaf or "loss" in name.lower():
        return False
    return not thing.reach or bool(loss.sure and not thing.sure)


def _may_be_a_list(thing: Thing) -> bool:
    """Does `append` put something into it? A class from outside may as well keep a number."""
    return facts.last(thing.built) in facts.LISTS or not thing.built
