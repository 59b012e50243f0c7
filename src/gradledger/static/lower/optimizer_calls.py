"""What optimizers, scalers and schedulers do."""

from __future__ import annotations

from gradledger.ledger.events import Schedule, Update
from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    NONE,
    PLAIN,
    UNKNOWN,
    Constant,
    External,
    FunctionDef,
    Items,
    Known,
    Optimizer,
    Scaler,
    Scheduler,
    Thing,
    is_plain,
)
from gradledger.static.ir.effects import (
    Clears,
    Clips,
    Excuses,
    Reads,
    Resumes,
    Spends,
    Unscales,
)
from gradledger.static.ir.notes import OneOfMany, ScheduleCountsBatches, ScheduleWaits, StepHook
from gradledger.static.ir.program import NOTHING, Branch, Loop
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.backward_calls import Depositing
from gradledger.static.lower.spelling import last_name
from gradledger.static.models import facts
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern, literal

ROLE_METHODS = frozenset(
    ["step", "zero_grad", "scale", "unscale_", "update", "first_step", "second_step"]
)

_OF_SCOPES = Pattern(r"\w+#\d+:?")


class Stepping(Depositing):
    """The rest of the cycle: unscale, spend, clear."""

    def with_role(self, base: Known, method: str, node: ast.Call) -> Known:
        """A thing from outside, taken for what its name and its use in the file say it is."""
        if base == NONE and method in ("step", "zero_grad"):
            assert isinstance(node.func, ast.Attribute)
            return self._given_later(node.func.value) or base
        if not isinstance(base, Thing) or not base.key or base.plain:
            return base
        if base.cls is not None or base.own or method in facts.OF_STRINGS:
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
                made = Scaler("", enabled=not self._is_accelerates(base.key), is_option=True)
            case "scheduler" if method == "step" and _moves_a_rate(node):
                # By its name alone: there are schedules of weights, of noise, of teachers.
                made = Scheduler("", tuple(self.optimizers), counts_updates=False, perhaps=True)
            case _:
                return base
        return self.bind_role(base.key, made, target)

    def _given_later(self, spelled: ast.expr) -> Optimizer | None:
        """An optimizer that is None so far, beside another: who steps it has given it one since."""
        if self.uses().role(_terminal(spelled)) != "optimizer":
            return None
        match spelled:
            case ast.Name():
                beside = self.scope.id
            case ast.Attribute(value=base):
                owner = self.eval(base)
                beside = f"{owner.key}." if isinstance(owner, Thing) and owner.key else ""
            case _:
                return None
        if not beside or not any(
            isinstance(value, Optimizer)
            for name, value in self.store.items()
            if name.startswith(beside)
        ):
            return None  # of one alone: it is not stepped, and nothing is trained
        name = ast.unparse(spelled)
        made = self._register(Optimizer(name, None, self.at(spelled), outside=True))
        self.rebind(spelled, made)
        return made

    def _is_accelerates(self, key: str) -> bool:
        """Is it a scaler that Accelerate keeps? Its own optimizers scale, step and update then."""
        owner = key.rpartition(".")[0]
        held = self.store.get(owner)
        return is_accelerator(held if isinstance(held, Thing) else Thing(owner))

    def grad_fn_like(self, thing: Thing) -> bool:
        """Is it surely a tensor?"""
        return thing.sure and bool(thing.reach)

    def bind_role(self, key: str, made: Known, target: ast.expr) -> Known:
        """Remembers what a thing from outside turned out to be."""
        shown = _OF_SCOPES.sub("", key) or ast.unparse(target)
        if isinstance(made, Optimizer):
            made = self._register(replace(made, name=shown, key=key))
        elif isinstance(made, Scaler | Scheduler):
            made = replace(made, name=shown, key=key)
        self.store[key] = made
        self.rebind(target, made)
        return made

    def _of_optimizer(self, optimizer: Optimizer, name: str, node: ast.Call) -> Known:
        if name == "step":
            self._step(optimizer, node)
        elif name in ("zero_grad", "clear_grad", "reset_grad"):
            arguments = self.arguments(node)
            to_none = arguments.get(0, "set_to_none")
            none = not (isinstance(to_none, Constant) and to_none.value is False)
            self.clear(node, optimizer=optimizer.name, to_none=none)
        elif name == "first_step":
            # SAM: climbs by the gradients of the first pass, which are no update.
            self.emit(Reads(self.at(node), optimizer=optimizer.name))
            self._clear_if_asked(optimizer, node)
        elif name == "second_step":
            self.emit(Spends(self.at(node), optimizer=optimizer.name))
            self._clear_if_asked(optimizer, node)
        elif name == "add_param_group":
            keys = self.keys_of(self.arguments(node).get(0, "param_group") or UNKNOWN)
            if optimizer.keys is not None:
                self._register(replace(optimizer, keys=optimizer.keys | keys))
        elif name == "load_state_dict":
            self.arguments(node)
            self.emit(Resumes(self.at(node), optimizer=optimizer.name))
        elif name == "backward":  # fp16 wrappers of optimizers
            loss = self.arguments(node).get(0, "loss") or UNKNOWN
            self.deposit(loss, node)
        elif name in ("clip_master_grads", "clip_grad_norm"):
            self.arguments(node)
            self.emit(Clips(self.at(node), optimizer=optimizer.name))
        elif name == "register_step_post_hook":
            self.arguments(node)
            self.note(StepHook, self.at(node), optimizers=frozenset({optimizer.name}))
        elif name not in facts.OPTIMIZER_HARMLESS and not name.startswith("get_"):
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
        if any(name != "closure" and not is_plain(v) for name, v in arguments.named.items()):
            self.hand_over(optimizer.name, node, "a step that is given a loss")
            return
        if not isinstance(closure, FunctionDef):
            self.spend(node, optimizer.name)
            return
        another_kind = not optimizer.torchs or self._also_steps_without(node)
        if _takes_arguments(closure):
            self.hand_over(optimizer.name, node, "a closure that is told what to do")
            return
        if another_kind and not self.makes_deposits(closure):
            self.hand_over(optimizer.name, node, "a step that differentiates by itself")
            return
        if another_kind:
            # It may look at what it finds first (SAM).
            self.emit(Excuses(self.at(node), optimizer=optimizer.name))

        def once() -> None:
            self.call_function(closure, Arguments(), node)
            self.spend(node, optimizer.name)

        block = self.block(once)
        self.out.append(Loop(block, at_least=1) if optimizer.closure_loops else block)

    def _also_steps_without(self, node: ast.Call) -> bool:
        """Does the function call the same `step` without a closure, too?"""
        module = self.scope.module
        plain = Pattern(rf"(?<![\w.]){literal(ast.unparse(node.func))}\(\s*\)")
        return plain.search(module.text(self.scope.node or module.tree)) is not None

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
        given = [*node.args, *(k.value for k in node.keywords if k.arg == "optimizer")]
        if name in ("unscale_", "step") and given:
            optimizer = self.as_optimizer(arguments.get(0, "optimizer"), given[0])
            if optimizer and optimizer.key.endswith("[*]") and not self.each_once:
                self.note(OneOfMany, self.at(node), optimizers=frozenset({optimizer.name}))
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
        return self._given_later(node) if value == NONE else None

    def _of_scheduler(self, scheduler: Scheduler, name: str, node: ast.Call) -> Known:
        if name == "load_state_dict":  # as it was when its optimizer had stepped
            for optimizer in scheduler.optimizers:
                self.emit(Resumes(self.at(node), optimizer=optimizer))
        placed = self.arguments(node).get(0, "epoch") is not None and not scheduler.by_metric
        # A schedule that is told its epoch skips no value, whenever it is told.
        if name == "step" and _moves_a_rate(node) and not placed:
            if not scheduler.counts_updates:
                self.note(ScheduleCountsBatches, self.at(node))
            if len(scheduler.optimizers) > 1 or scheduler.by_metric or scheduler.perhaps:
                self.note(ScheduleWaits, self.at(node))
            for optimizer in scheduler.optimizers:
                event = Schedule(self.at(node), scheduler.name, optimizer)
                if scheduler.prepared or scheduler.key:
                    self._if_syncing(event)
                else:
                    self.emit(event)
        return PLAIN


def is_accelerator(thing: Thing) -> bool:
    """Is it an Accelerator, by what made it or by its name?"""
    name = thing.key.rpartition(".")[2].rpartition(":")[2]
    return thing.built.startswith("accelerate.") or name.endswith("accelerator")


def _moves_a_rate(node: ast.Call) -> bool:
    """Is it the step of a learning-rate scheduler, and not of a diffusion process?"""
    known = {"epoch", "metrics", None}
    return len(node.args) <= 1 and all(k.arg in known for k in node.keywords)


def _terminal(node: ast.expr) -> str:
    """The name that a person would call it by."""
    return _terminal(node.value) if isinstance(node, ast.Subscript) else last_name(node)


def _scaled(value: Known, scaler: Scaler) -> Known:
    if isinstance(value, Thing) and scaler.enabled:
        return replace(value, scaler=scaler.name, key=value.key)
    return value


def _takes_arguments(closure: FunctionDef) -> bool:
    """`def closure(backward=False)`: whoever calls it says more than torch's optimizers do."""
    taken = closure.node.args
    own = [*taken.posonlyargs, *taken.args][len(closure.preset) :]
    return bool(own[1:] if closure.bound is not None else own) or bool(taken.kwonlyargs)
