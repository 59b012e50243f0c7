"""What functions and classes from outside of the project give and do."""

from __future__ import annotations

from collections.abc import Iterable

from gradledger.ledger.events import UNKNOWN_WEIGHT, Weight
from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    EVERY_KEY,
    LENGTH,
    PLAIN,
    UNKNOWN,
    ClassDef,
    Constant,
    External,
    FunctionDef,
    Gradients,
    Items,
    Known,
    Optimizer,
    Parameters,
    Scaler,
    Scheduler,
    Thing,
    are_among,
    optimizers_in,
    reach_of,
)
from gradledger.static.domain.weights import MEAN, of_reduction
from gradledger.static.ir.effects import Reads
from gradledger.static.ir.keys import NO_KEYS, within
from gradledger.static.lower import loader_sizes
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.call_graph import cuts
from gradledger.static.lower.expressions import is_meter
from gradledger.static.lower.gradient_calls import NORMS
from gradledger.static.lower.module_calls import is_layer
from gradledger.static.lower.tensor_calls import TensorCalls
from gradledger.static.models import facts, graphless
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

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

MORE_THAN_STEPS = Pattern(
    r"zero_grad|zero_\(|\._?grad[ \t]*=(?!=)|backward\(|\.step\(",
    words=("zero_grad", "zero_(", ".grad", "._grad", "backward(", ".step("),
)
"""Words of optimizers that also clear, deposit, or leave the step to others."""

PASSING = frozenset(["list", "tuple", "iter", "next", "sorted", "set", "reversed", "filter"])

CHAINING = frozenset(["chain", "from_iterable"])


class OutsideCalls(TensorCalls):
    """torch, and the libraries around it."""

    def _collected(self, name: str, node: ast.Call) -> Known | None:
        """`len(x)`, `dict(params=x, lr=0.1)`, and `dict(model.named_parameters())`."""
        if node.keywords and not node.args:
            values = tuple(self.used(keyword.value) for keyword in node.keywords)
            return Items(values, tuple(keyword.arg for keyword in node.keywords))
        if len(node.args) != 1:
            return None
        given = self.used(node.args[0])
        if name == "len":
            shape = loader_sizes.shape_of(given)
            return Constant.of(shape[0]) if shape else LENGTH
        return given if isinstance(given, Parameters) else None

    def _made_on_demand(self, node: ast.Call) -> Items | None:
        """`defaultdict(Meter)`: one of them stands for all."""
        (maker,) = node.args
        if isinstance(maker, ast.Lambda):
            made = self.eval(maker.body)
        elif isinstance(cls := self.eval(maker), ClassDef):
            made = self.call_value(cls, ast.copy_location(ast.Call(maker, [], []), node))
        else:
            return None
        return Items((made,), (EVERY_KEY,)) if is_meter(made) else None

    def _call_external(self, dotted: str, node: ast.Call) -> Known:
        name = facts.last(dotted)
        if name == "partial" and node.args:
            function = self.eval(node.args[0])
            rest = tuple(map(self.eval, node.args[1:]))
            if isinstance(function, FunctionDef):
                return replace(function, preset=(*function.preset, *rest))
            return function
        if dotted in NORMS and node.args and (read := self._norm(node)) is not None:
            return read
        if name.startswith("_foreach_") and node.args:
            return self._foreach(name, node)
        if name.endswith("_") and node.args:
            held = self.eval(node.args[0]) if isinstance(node.args[0], ast.Attribute) else None
            if isinstance(held, Gradients):  # `nn.init.zeros_(p.grad)`
                return self._of_gradients(held, "zero_" if name == "zeros_" else name, node)
        if dotted in ("builtins.dict", "builtins.len"):
            made = self._collected(name, node)
            if made is not None:
                return made
        if name == "defaultdict" and len(node.args) == 1:
            made = self._made_on_demand(node)
            if made is not None:
                return made
        if dotted == "builtins.getattr" and len(node.args) >= 2:
            return self._by_name(node)
        if dotted == "builtins.setattr" and len(node.args) == 3:
            return self.set_by_name(node, node.args[2])
        if dotted == "builtins.delattr" and len(node.args) == 2:
            return self.set_by_name(node, ast.copy_location(ast.Constant(None), node))
        if name == "import_module" and node.args and isinstance(node.args[0], ast.Constant):
            return External(str(node.args[0].value))
        return self._called_with(self.arguments(node), dotted, name, node)

    def _called_with(self, arguments: Arguments, dotted: str, name: str, node: ast.Call) -> Known:
        for kind in (kind for start, kind in facts.NOTED.items() if name.startswith(start)):
            self.note(kind, self.at(node))
        if any(isinstance(value, FunctionDef) and cuts(value) for value in arguments.values()):
            return PLAIN  # `tree_map(lambda t: t.detach(), states)`
        if any(isinstance(v, External) and _detaches(v) for v in arguments.values()):
            return PLAIN  # `tree_map(torch.Tensor.detach, states)`
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
        return self._computed_outside(arguments, dotted, name, node)

    def _computed_outside(
        self, arguments: Arguments, dotted: str, name: str, node: ast.Call
    ) -> Known:
        """A tensor, a layer, data, or nobody knows what, made of what is given."""
        torch = dotted.startswith(("torch.", "F.", "einops."))
        if _requires_grad(arguments) or name == "Parameter":
            trained = arguments.get(1, "requires_grad") in (None, Constant.of(True))
            return Thing(leaf=True, built=dotted if trained else "")
        if torch and (name in FROM_DATA or name in graphless.DETACHING or name.endswith("_like")):
            return PLAIN
        if name == "functional_call":  # with other parameters than its own, as a rule
            made = self.computed(*arguments.values(), sure=False)
            return replace(made, reach=NO_KEYS, maybe=made.maybe | made.reach)
        if name in ("deepcopy", "copy") and isinstance(first := arguments.get(0, ""), Thing):
            frozen = any(within(first.key, key) for key in self.frozen)
            built = dotted if frozen else first.built or dotted
            return Thing(plain=first.plain, cls=first.cls, built=built)
        if torch and name in loader_sizes.CREATORS:
            return Thing(plain=True, shape=loader_sizes.created(name, arguments))
        if name in loader_sizes.DATASETS:
            return Thing(plain=True, shape=loader_sizes.shape_of(arguments.get(0, ""))[:1])
        if name == "random_split" and (parts := loader_sizes.parts(arguments)):
            return Items(tuple(Thing(plain=True, shape=(rows,)) for rows in parts))
        if name == "DataLoader":
            rows = self._rows_of(arguments.get(0, "dataset"))
            return Thing(plain=True, shape=loader_sizes.batched(rows, arguments))
        if torch and dotted.startswith("torch.nn.") and name[:1].isupper():
            weight = _mean(node) if name in facts.MEAN_MODULES else Thing().weight
            if name in facts.CONTAINERS and not _holds_parameters(arguments.values()):
                dotted = "torch.nn.Module"  # augmentations, activations, or nobody knows what
            return Thing(built=dotted, weight=of_reduction(arguments.named, weight))
        made = self.computed(*arguments.values(), sure=torch)
        if name in ("mean",) and torch:
            return replace(made, weight=MEAN, among=are_among(*arguments.values()))
        if torch and made.plain:
            return PLAIN
        if name[:1].isupper() and isinstance(first := arguments.get(0, "optimizer"), Optimizer):
            # LARC(optimizer): if this turns out to step and to clear, it does so for that one.
            return Thing(built=dotted, reach=first.keys or NO_KEYS)
        return replace(made, built=dotted) if not made.plain else Thing(built=dotted)

    def _rows_of(self, dataset: Known | None) -> tuple[int, ...]:
        """How many rows there are: by the data's size, or by the `__len__` of the project's own."""
        own = dataset.cls if isinstance(dataset, Thing) else None
        length = self.method(own, "__len__") if own is not None else None
        match length.node.body if length is not None else None:
            case [*_, ast.Return(ast.Constant(int(rows)))] if rows > 0:
                return (rows,)
        return loader_sizes.shape_of(dataset)[:1]

    def set_by_name(self, node: ast.Call, value: ast.expr) -> Known:
        """`setattr(parameter, "grad", value)`: the same as to assign it."""
        raise NotImplementedError

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
        test = arguments.get(0, "")
        if name == "filter" and isinstance(test, FunctionDef):
            self.guarded |= ".grad" in test.module.text(test.node)  # those that have one
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

    def _made_outside(
        self, dotted: str, name: str, arguments: Arguments, node: ast.Call
    ) -> Known | None:
        first = arguments.get(0, "")
        if facts.is_scaler(dotted):
            enabled = arguments.named.get("enabled", Constant.of(True))
            known = isinstance(enabled, Constant)
            return Scaler("", enabled=enabled != Constant.of(False), is_option=not known)
        if facts.is_scheduler(dotted):
            return self._scheduler(dotted, arguments, node)
        if facts.is_optimizer_class(dotted):
            return self._optimizer(dotted, name, arguments, node)
        if (name in PASSING and dotted == f"builtins.{name}") or name in CHAINING:
            return self._passed_on(name, arguments)
        if name == "enumerate":
            shape = loader_sizes.shape_of(first)
            return Thing(plain=True, built="builtins.enumerate", shape=shape, depth=len(self.loops))
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
        if dotted.endswith("distributed.autograd.backward"):
            return PLAIN  # into a context that begins empty, and into no cell
        if dotted.endswith("autograd.backward"):
            loss = first or UNKNOWN
            if len(node.args) > 1 and isinstance(loss, Thing):
                loss = replace(loss, weight=UNKNOWN_WEIGHT)  # `backward(loss, torch.tensor(1 / n))`
            self.deposit(loss, node, Arguments((), arguments.named))
            return PLAIN
        if dotted.endswith("autograd.grad"):
            made = self.computed(*arguments.values())
            # Without, nobody can be sure that what it gives has a graph at all.
            sure = arguments.named.get("create_graph") == Constant.of(True)
            return made if sure else replace(made, sure=False)
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
            torchs=dotted.startswith(("torch.optim", "optim.")),
            tensors=bool(made) and all(isinstance(m, Thing) and m.leaf for m in made),
        )

    def only_steps(self, cls: ClassDef) -> bool:
        """Is it an optimizer of the project's own, which leaves gradients as it finds them?"""
        if not any(map(facts.is_optimizer_class, self.bases_outside(cls))):
            return False
        return not any(
            owner.module.says(MORE_THAN_STEPS, method)
            for owner in self.lineage(cls)
            for name, method in owner.module.methods(owner.node).items()
            if name != "__init__"
        )

    def schedule_of(self, cls: ClassDef, arguments: Arguments, node: ast.Call) -> Known | None:
        """One of a class of the project's that is stepped as one of torch's; None for any other."""
        kind = next(filter(facts.is_scheduler, self.bases_outside(cls)), None)
        if kind is None or self.method(cls, "step") is not None:
            return None
        return self._scheduler(kind, arguments, node)

    def _scheduler(self, kind: str, arguments: Arguments, node: ast.Call) -> Known:
        from gradledger.static.lower.window_sizes import counts_updates

        found = tuple(o.name for v in arguments.values() for o in optimizers_in(v) if o.name)
        return Scheduler(
            "",
            tuple(dict.fromkeys(found)),
            by_metric="Plateau" in facts.last(kind),
            counts_updates=counts_updates(node, self.scope.module),
        )

    def _wrapped(self, name: str, arguments: Arguments, first: Known) -> Known:
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
