"""Who else owns the cycle: what frameworks clear, divide, scale and step, and when."""

from __future__ import annotations

from collections.abc import Callable

from gradledger.ledger.events import Update, Weight
from gradledger.ledger.values import replace
from gradledger.static.domain.scopes import LoopState
from gradledger.static.domain.values import (
    PLAIN,
    UNKNOWN,
    Count,
    FunctionDef,
    Items,
    Known,
    Optimizer,
    Scheduler,
    Thing,
    optimizers_in,
)
from gradledger.static.ir.blocks import acts
from gradledger.static.ir.effects import Clips, Deposits, Unscales
from gradledger.static.ir.program import Loop, Tick
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.optimizer_calls import is_accelerator
from gradledger.static.lower.statements import Statements
from gradledger.static.models import facts
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import WINDOW

APEX = "amp"
"""The scaler that apex keeps to itself."""


class Frameworks(Statements):
    """Accelerate, Fabric, Lightning, DeepSpeed, apex, ignite."""

    def framework_call(self, thing: Thing, name: str, node: ast.Call) -> Known | None:
        """Calls of objects that frameworks give."""
        if is_accelerator(thing) or _is_fabric(thing):
            return self._of_accelerator(thing, name, node)
        if thing.cls is not None and self.is_lightning(thing):
            return self._of_lightning(thing, name, node)
        if thing.built.startswith("deepspeed"):
            self.arguments(node)
            return UNKNOWN
        return None

    def framework_made(self, dotted: str, arguments: Arguments, node: ast.Call) -> Known | None:
        """What a framework's function gives."""
        name = facts.last(dotted)
        if dotted.startswith(("deepspeed", "gradledger")):
            return Thing(built=dotted)
        if name == "Accelerator":
            return Thing(built=f"accelerate.{_kind_of_accelerator(arguments)}")
        if name == "Fabric":
            return Thing(built="lightning.fabric.Fabric")
        if name == "Engine" and isinstance(arguments.get(0, "process_function"), FunctionDef):
            function = arguments.get(0, "process_function")
            assert isinstance(function, FunctionDef)
            self.repeat(function, node)
            return Thing(built=dotted)
        if dotted.endswith("amp.initialize"):
            pair = list(arguments.positional[:2])
            pair += [arguments.named[w] for w in ("models", "optimizers") if w in arguments.named]
            return Items(tuple(pair)) if len(pair) > 1 else (pair[0] if pair else None)
        if dotted.endswith("amp.master_params"):
            first = arguments.get(0, "optimizer")
            return (
                self.member(first, "param_groups", node)
                if isinstance(first, Optimizer)
                else UNKNOWN
            )
        return None

    def repeat(
        self,
        function: FunctionDef,
        node: ast.AST,
        *,
        counter: str = "",
        rounds: int | None = None,
        root: bool = False,
    ) -> None:
        """A function that a framework calls for each batch, epoch by epoch."""
        self._scope_count += 1
        loop = LoopState(f"loop {getattr(node, 'lineno', 0)}#{self._scope_count}")
        self.loops.append(loop)
        given: dict[str, Known] = {counter: Count(loop.id)} if counter else {}
        try:
            body = self.block(
                lambda: void(self.call_function(function, Arguments((), given), node, root=root))
            )
        finally:
            self.loops.pop()
        if not acts(body):
            return

        def epoch() -> None:
            before, self.ended = self.ended, []
            self.write_rounds(body, loop, self.at(node), rounds=rounds)
            self.end_epochs()
            self.ended = before

        self.out.append(Loop(self.block(epoch)))

    # Accelerate and Fabric

    def _of_accelerator(self, thing: Thing, name: str, node: ast.Call) -> Known | None:
        if name == "backward":
            return self._accelerated_backward(thing, node)
        if name in ("prepare", "setup", "setup_module", "setup_optimizers", "setup_dataloaders"):
            values = tuple(map(_prepared, self.arguments(node).positional))
            return values[0] if len(values) == 1 else Items(values)
        if name in ("prepare_model", "prepare_optimizer", "unwrap_model"):
            return self.arguments(node).get(0, "model") or UNKNOWN
        if name.startswith("clip_grad"):
            self._clip(self.arguments(node), node)
            return PLAIN
        if name in (
            "autocast",
            "print",
            "log",
            "save_state",
            "wait_for_everyone",
            "save",
            "gather",
        ):
            self.arguments(node)
            return PLAIN
        return None

    def _accelerated_backward(self, thing: Thing, node: ast.Call) -> Known:
        loss = self.arguments(node).get(0, "loss") or UNKNOWN
        weight = loss.weight if isinstance(loss, Thing) else None
        divides = bool(self.accumulating) or thing.built == "accelerate.Accumulating"
        if weight is not None and divides:
            counted = replace(weight, framework_divides=True)
            if not self._by_window(weight):
                counted = replace(counted, divisor=None)
            self.deposit(loss, node, weight=counted)
        elif weight is not None and thing.built == "accelerate.Configured":
            self.deposit(loss, node, weight=replace(weight, divisor=None))
        else:
            self.deposit(loss, node)
        return PLAIN

    def accumulate(self, call: ast.Call) -> None:
        """`with accelerator.accumulate(model)`: its optimizers act at a window's end alone."""
        owner = self.eval(call.func.value) if isinstance(call.func, ast.Attribute) else UNKNOWN
        key = owner.key if isinstance(owner, Thing) and owner.key else "accelerator"
        for argument in call.args:
            self.eval(argument)
        if isinstance(owner, Thing) and owner.built == "accelerate.Plain":
            return  # its windows are of one micro-batch
        self.accumulating = f"{key}.sync_gradients"
        self.out.append(Tick(f"{self.accumulating} before", self.accumulating))

    def _engine_backward(self, engine: Thing, loss: Thing, node: ast.Call) -> Known:
        if is_accelerator(engine) or _is_fabric(engine):
            return self._accelerated_backward(engine, node)
        if self.is_lightning(engine) or engine.key.endswith("scaler"):
            self.deposit(loss, node)
            return PLAIN
        if engine.built.startswith(("gradledger", "deepspeed")):
            return PLAIN  # it clears and steps by itself, by its own rules
        # An engine of DeepSpeed or of the project's own: it clears and steps by itself.
        self.note_unknown(node, f"{engine.key or 'an engine'} owns the cycle")
        return PLAIN

    # Lightning

    def is_lightning(self, thing: Thing) -> bool:
        """Is it a LightningModule?"""
        return thing.cls is not None and any(
            "LightningModule" in base for base in self.bases_outside(thing.cls)
        )

    def _of_lightning(self, thing: Thing, name: str, node: ast.Call) -> Known | None:
        if name == "manual_backward":
            arguments = self.arguments(node)
            rest = Arguments((), arguments.named)
            self.deposit(arguments.get(0, "loss") or UNKNOWN, node, rest)
            return PLAIN
        if name == "optimizers":
            return self._configured(thing, node)
        if name == "lr_schedulers":
            self._configured(thing, node)
            return self.store.get(f"{thing.key}.<schedulers>", UNKNOWN)
        if name == "toggle_optimizer":
            chosen = optimizers_in(Items(self.arguments(node).positional))
            keep = frozenset(k for o in chosen for k in o.keys or ())
            every = frozenset(k for o in self.optimizers.values() for k in o.keys or ())
            self.frozen |= every - keep
            return PLAIN
        if name == "untoggle_optimizer":
            self.arguments(node)
            every = frozenset(k for o in self.optimizers.values() for k in o.keys or ())
            self.frozen -= every
            return PLAIN
        if name == "clip_gradients":
            first = self.arguments(node).get(0, "optimizer")
            if isinstance(first, Optimizer):
                self.emit(Clips(self.at(node), optimizer=first.name))
            return PLAIN
        if name in ("log", "log_dict", "print"):
            self.arguments(node)
            return PLAIN
        return None

    def _configured(self, thing: Thing, node: ast.Call) -> Known:
        """The optimizers that `configure_optimizers` returns, in its order."""
        known = self.store.get(f"{thing.key}.<optimizers>")
        if known is not None:
            return known
        method = self.method(thing.cls, "configure_optimizers") if thing.cls else None
        value: Known = UNKNOWN
        if method is not None:
            outer, self.out = self.out, []
            value = self.call_function(replace(method, bound=thing), Arguments(), node)
            self.out = outer
        schedulers = tuple(_only_schedulers(value))
        if schedulers:
            every: Known = schedulers[0] if len(schedulers) == 1 else Items(schedulers)
            self.store[f"{thing.key}.<schedulers>"] = every
        found = _only_optimizers(value)
        made = tuple(
            self._register(replace(o, name=o.name or f"optimizer {i}", outside=True))
            for i, o in enumerate(found)
        )
        result: Known = made[0] if len(made) == 1 else Items(made) if made else UNKNOWN
        self.store[f"{thing.key}.<optimizers>"] = result
        return result

    # apex

    def _apex(self, call: ast.Call, item: ast.withitem, after: list[Callable[[], None]]) -> None:
        loss = self.eval(call.args[0])
        second = (
            call.args[1]
            if len(call.args) > 1
            else next((k.value for k in call.keywords if k.arg == "optimizers"), None)
        )
        given = self.eval(second) if second is not None else UNKNOWN
        optimizer = self.as_optimizer(given, second) if second is not None else None
        names = [o.name for o in optimizers_in(given)] or ([optimizer.name] if optimizer else [])
        if isinstance(loss, Thing) and names:
            loss = replace(loss, scaler=APEX, key="")
        if item.optional_vars is not None:
            self.assign(item.optional_vars, loss)

        def leave() -> None:
            for name in names:
                self.emit(Unscales(self.at(call), optimizer=name, scaler=APEX))
            if names:
                self.emit(Update(self.at(call), APEX))

        after.append(leave)

    def _by_window(self, weight: Weight) -> bool:
        """Is it divided by the number of micro-batches in a window?"""
        if isinstance(weight.divisor, str):
            return bool(WINDOW.search(weight.divisor))
        if weight.divisor in (None, 1) or weight.divided_at is None:
            return False
        module = self.scope.module
        if weight.divided_at.path != module.path:
            return False
        size = f"{weight.divisor:g}"
        given = Pattern(rf"(accumulate_grad_batches|gradient_accumulation_steps)\s*=\s*{size}\b")
        line = module.lines[weight.divided_at.line - 1]
        return bool(WINDOW.search(line) or given.search(module.source))

    # What hooks return

    def returned(self, value: Known, node: ast.Return) -> None:
        """A LightningModule's loss is divided by Lightning, a Trainer's by the Trainer."""
        if isinstance(node.value, ast.IfExp):
            value = self.eval(node.value.orelse)  # `(loss, outputs) if return_outputs else loss`
        if isinstance(value, Items) and value.values:
            value = value.values[0]
        scope = self.scope
        name = getattr(scope.node, "name", "")
        if name not in ("training_step", "compute_loss") or not isinstance(value, Thing):
            return
        owner = scope.self_value
        if not isinstance(owner, Thing) or owner.cls is None:
            return
        bases = self.bases_outside(owner.cls)
        lightning = name == "training_step" and any("LightningModule" in b for b in bases)
        trainer = name == "compute_loss" and any(facts.last(b).endswith("Trainer") for b in bases)
        if (lightning or trainer) and self._by_window(value.weight) and not self.backwards:
            weight = replace(value.weight, framework_divides=True)
            self.emit(Deposits(self.at(node), weight=weight))


def _prepared(value: Known) -> Known:
    """A scheduler that moves when its optimizer does."""
    return replace(value, prepared=True) if isinstance(value, Scheduler) else value


def void(_: Known) -> None:
    """For what a call gives and nobody wants."""


def _is_fabric(thing: Thing) -> bool:
    return (
        thing.built.endswith(".Fabric")
        or thing.key.rpartition(".")[2].rpartition(":")[2] == "fabric"
    )


def _only_schedulers(value: Known) -> list[Scheduler]:
    """The schedulers in what `configure_optimizers` returns, in order."""
    if isinstance(value, Scheduler):
        return [replace(value, name=value.name or "the scheduler")]
    if isinstance(value, Items):
        return [found for item in value.values for found in _only_schedulers(item)]
    return []


def _only_optimizers(value: Known) -> list[Optimizer]:
    """The optimizers in what `configure_optimizers` returns, in order."""
    found: list[Optimizer] = []
    match value:
        case Optimizer():
            found.append(value)
        case Items(values=values, names=names):
            if names:
                for key, item in zip(names, values, strict=False):
                    if key == "optimizer":
                        found += _only_optimizers(item)
            else:
                for item in values:
                    if not isinstance(item, Scheduler):
                        found += _only_optimizers(item)
    return found


def _kind_of_accelerator(arguments: Arguments) -> str:
    """Does it divide by a window, does it not, or does somebody else say so?"""
    given = arguments.named.keys()
    if given & {"gradient_accumulation_steps", "gradient_accumulation_plugin"}:
        return "Accumulating"
    return "Configured" if "**" in given else "Plain"
