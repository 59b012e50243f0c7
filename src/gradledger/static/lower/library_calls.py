"""What functions and classes from outside of the project give and do."""

from __future__ import annotations

from collections.abc import Iterable

from gradledger.ledger.events import UNKNOWN_WEIGHT, Weight
from gradledger.ledger.values import replace
from gradledger.static.domain.contents import are_among
from gradledger.static.domain.values import (
    PLAIN,
    UNKNOWN,
    Constant,
    External,
    FunctionDef,
    Gradients,
    Items,
    Known,
    Optimizer,
    Scaler,
    Thing,
)
from gradledger.static.domain.weights import MEAN, coefficients_of, of_reduction, sum_of, weight_of
from gradledger.static.ir.effects import Reads
from gradledger.static.ir.keys import NO_KEYS, within
from gradledger.static.lower import loader_sizes
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.arithmetic import computed, keys_of
from gradledger.static.lower.attributes import method_of
from gradledger.static.lower.backward_calls import deposit
from gradledger.static.lower.builtin_calls import (
    CHAINING,
    PASSING,
    by_name,
    collected,
    made_on_demand,
    passed_on,
)
from gradledger.static.lower.function_text import cuts
from gradledger.static.lower.gradient_calls import NORMS, gradient_norm, gradients_method
from gradledger.static.lower.gradient_functions import clip, foreach
from gradledger.static.lower.module_outputs import is_layer
from gradledger.static.lower.noting import note
from gradledger.static.lower.optimizer_classes import make_optimizer, make_scheduler
from gradledger.static.lower.unknown_calls import arguments_of, watch_unknown_call
from gradledger.static.models import facts, graphless
from gradledger.static.models.schedulers import is_scheduler
from gradledger.static.models.torch_amp import is_scaler
from gradledger.static.models.torch_optim import is_optimizer_class
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

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


def call_external(machine: Machine, dotted: str, node: ast.Call) -> Known:
    """Calls a function or class that is no code of the project."""
    name = facts.last(dotted)
    if name == "partial" and node.args:
        function = machine.eval(node.args[0])
        rest = tuple(map(machine.eval, node.args[1:]))
        if isinstance(function, FunctionDef):
            return replace(function, preset=(*function.preset, *rest))
        return function
    if dotted in NORMS and node.args and (read := gradient_norm(machine, node)) is not None:
        return read
    if name.startswith("_foreach_") and node.args:
        return foreach(machine, name, node)
    if name.endswith("_") and node.args:
        held = machine.eval(node.args[0]) if isinstance(node.args[0], ast.Attribute) else None
        if isinstance(held, Gradients):  # `nn.init.zeros_(p.grad)`
            return gradients_method(machine, held, "zero_" if name == "zeros_" else name, node)
    if dotted in ("builtins.dict", "builtins.len"):
        made = collected(machine, name, node)
        if made is not None:
            return made
    if name == "defaultdict" and len(node.args) == 1:
        made = made_on_demand(machine, node)
        if made is not None:
            return made
    if dotted == "builtins.getattr" and len(node.args) >= 2:
        return by_name(machine, node)
    handler = machine.libraries.functions.get(dotted)
    if handler is not None and (made := handler(machine, node)) is not None:
        return made
    if name == "import_module" and node.args and isinstance(node.args[0], ast.Constant):
        return External(str(node.args[0].value))
    return _called_with(machine, arguments_of(machine, node), dotted, name, node)


def _called_with(
    machine: Machine, arguments: Arguments, dotted: str, name: str, node: ast.Call
) -> Known:
    for kind in (kind for start, kind in facts.NOTED.items() if name.startswith(start)):
        note(machine, kind, machine.at(node))
    if any(isinstance(value, FunctionDef) and cuts(value) for value in arguments.values()):
        return PLAIN  # `tree_map(lambda t: t.detach(), states)`
    if any(isinstance(v, External) and _detaches(v) for v in arguments.values()):
        return PLAIN  # `tree_map(torch.Tensor.detach, states)`
    made = _made_outside(machine, dotted, name, arguments, node)
    if made is not None:
        return made
    watch_unknown_call(machine, dotted, None, arguments, node)
    if dotted.partition(".")[0] in ("numpy", "np", "math", "random", "os", "time", "json"):
        return PLAIN
    if name in facts.PLAIN_FUNCTIONS:
        return PLAIN
    if name in facts.MEAN_FUNCTIONS:
        made = computed(machine, *arguments.values())
        return replace(made, weight=of_reduction(arguments.named, _mean(node)))
    return _computed_outside(machine, arguments, dotted, name, node)


def _computed_outside(
    machine: Machine, arguments: Arguments, dotted: str, name: str, node: ast.Call
) -> Known:
    """A tensor, a layer, data, or nobody knows what, made of what is given."""
    torch = dotted.startswith(("torch.", "F.", "einops."))
    if _requires_grad(arguments) or name == "Parameter":
        trained = arguments.get(1, "requires_grad") in (None, Constant.of(True))
        return Thing(leaf=True, built=dotted if trained else "")
    if torch and (name in FROM_DATA or name in graphless.DETACHING or name.endswith("_like")):
        return PLAIN
    if name == "functional_call":  # with other parameters than its own, as a rule
        made = computed(machine, *arguments.values(), sure=False)
        return replace(made, reach=NO_KEYS, maybe=made.maybe | made.reach)
    if name in ("deepcopy", "copy") and isinstance(first := arguments.get(0, ""), Thing):
        frozen = any(within(first.key, key) for key in machine.flow.frozen)
        built = dotted if frozen else first.built or dotted
        copied = name == "deepcopy"
        return Thing(plain=first.plain, cls=first.cls, built=built, copied=copied)
    if torch and name in loader_sizes.CREATORS:
        return Thing(plain=True, shape=loader_sizes.created(name, arguments))
    if name in loader_sizes.DATASETS:
        return Thing(plain=True, shape=loader_sizes.shape_of(arguments.get(0, ""))[:1])
    if name == "random_split" and (parts := loader_sizes.parts(arguments)):
        return Items(tuple(Thing(plain=True, shape=(rows,)) for rows in parts))
    if name == "DataLoader":
        rows = _rows_of(machine, arguments.get(0, "dataset"))
        return Thing(plain=True, shape=loader_sizes.batched(rows, arguments))
    if torch and dotted.startswith("torch.nn.") and name[:1].isupper():
        weight = _mean(node) if name in facts.MEAN_MODULES else Thing().weight
        if name in facts.CONTAINERS and not _holds_parameters(arguments.values()):
            dotted = "torch.nn.Module"  # augmentations, activations, or nobody knows what
        return Thing(built=dotted, weight=of_reduction(arguments.named, weight))
    made = computed(machine, *arguments.values(), sure=torch or dotted == "builtins.sum")
    if dotted == "builtins.sum" and isinstance(first := arguments.get(0, ""), Items):
        return _sum(made, first.values)
    if name in ("mean",) and torch:
        return replace(made, weight=MEAN, among=are_among(*arguments.values()))
    if torch and made.plain:
        return PLAIN
    if name[:1].isupper() and isinstance(first := arguments.get(0, "optimizer"), Optimizer):
        # LARC(optimizer): if this turns out to step and to clear, it does so for that one.
        return Thing(built=dotted, reach=first.keys or NO_KEYS)
    return replace(made, built=dotted) if not made.plain else Thing(built=dotted)


def _sum(made: Thing, values: tuple[Known, ...]) -> Thing:
    """`sum(losses.values())`: the weight of the terms, added one after the other."""
    total: Known = Thing(plain=True)
    for value in values:
        weight, coefficients = sum_of(total, value)
        total = Thing(weight=weight, coefficients=coefficients)
    return replace(made, weight=weight_of(total), coefficients=coefficients_of(total))


def _rows_of(machine: Machine, dataset: Known | None) -> tuple[int, ...]:
    """How many rows there are: by the data's size, or by the `__len__` of the project's own."""
    own = dataset.cls if isinstance(dataset, Thing) else None
    length = method_of(machine, own, "__len__") if own is not None else None
    match length.node.body if length is not None else None:
        case [*_, ast.Return(ast.Constant(int(rows)))] if rows > 0:
            return (rows,)
    return loader_sizes.shape_of(dataset)[:1]


def _made_outside(
    machine: Machine, dotted: str, name: str, arguments: Arguments, node: ast.Call
) -> Known | None:
    first = arguments.get(0, "")
    if is_scaler(dotted):
        enabled = arguments.named.get("enabled", Constant.of(True))
        known = isinstance(enabled, Constant)
        return Scaler("", enabled=enabled != Constant.of(False), is_option=not known)
    if is_scheduler(dotted):
        return make_scheduler(machine, dotted, arguments, node)
    if is_optimizer_class(dotted):
        return make_optimizer(machine, dotted, name, arguments, node)
    if (name in PASSING and dotted == f"builtins.{name}") or name in CHAINING:
        return passed_on(machine, name, arguments)
    if name == "enumerate":
        shape = loader_sizes.shape_of(first)
        return Thing(
            plain=True, built="builtins.enumerate", shape=shape, depth=len(machine.context.loops)
        )
    counted = isinstance(first, Thing) and first.built == "builtins.enumerate"
    if counted and name in facts.ITERATION_WRAPPERS:
        return first
    if name in facts.WRAPPERS and isinstance(first, Thing | Optimizer | Items):
        return _wrapped(machine, name, arguments, first)
    if name.startswith(("clip_grad", "clip_gradients")):
        clip(machine, arguments, node)
        return PLAIN
    if name == "get_total_norm" or name == "get_grad_norm":
        machine.emit(Reads(machine.at(node), keys_of(machine, first or UNKNOWN)))
        return PLAIN
    if dotted.endswith("distributed.autograd.backward"):
        return PLAIN  # into a context that begins empty, and into no cell
    if dotted.endswith("autograd.backward"):
        loss = first or UNKNOWN
        if len(node.args) > 1 and isinstance(loss, Thing):
            loss = replace(loss, weight=UNKNOWN_WEIGHT)  # `backward(loss, torch.tensor(1 / n))`
        deposit(machine, loss, node, Arguments((), arguments.named))
        return PLAIN
    if dotted.endswith("autograd.grad"):
        made = computed(machine, *arguments.values())
        # Without, nobody can be sure that what it gives has a graph at all.
        sure = arguments.named.get("create_graph") == Constant.of(True)
        return made if sure else replace(made, sure=False)
    if name in ("_foreach_zero_",) and isinstance(first, Gradients | Items):
        return PLAIN
    if name in ("scale_loss",):
        return None
    for handler in machine.libraries.made:
        given = handler(machine, dotted, arguments, node)
        if given is not None:
            return given
    return None


def _wrapped(machine: Machine, name: str, arguments: Arguments, first: Known) -> Known:
    if name in ("prepare", "setup") and len(arguments.positional) > 1:
        return Items(arguments.positional)
    if name in facts.REPLICATING and isinstance(first, Thing):
        return replace(first, replicated=True)
    return first


def _mean(node: ast.Call) -> Weight:
    """A mean over a batch; over what is not padding, if that is left out."""
    padded = any(
        k.arg == "ignore_index" and "pad" in ast.unparse(k.value).lower() for k in node.keywords
    )
    return replace(MEAN, items_vary=padded)


def _holds_parameters(values: Iterable[Known]) -> bool:
    """Is one of these, or of those in them, surely a module with parameters?"""
    return any(
        _holds_parameters(value.values)
        if isinstance(value, Items)
        else isinstance(value, Thing)
        and (facts.has_parameters(value.built) or (value.cls is not None and is_layer(value.cls)))
        for value in values
    )


def _requires_grad(arguments: Arguments) -> bool:
    return arguments.named.get("requires_grad") == Constant.of(True)


def _detaches(function: External) -> bool:
    """`torch.Tensor.detach`, given to somebody who calls it."""
    return ".Tensor." in function.dotted and facts.last(function.dotted) in graphless.DETACHING
