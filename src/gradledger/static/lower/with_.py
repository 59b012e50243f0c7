"""`with`: what a manager changes, is changed inside of its block."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gradledger.ledger.tuples import NamedTuple
from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    NONE,
    UNKNOWN,
    ClassDef,
    Constant,
    External,
    FunctionDef,
    Known,
    Thing,
)
from gradledger.static.ir.notes import SyncsByOption
from gradledger.static.ir.program import Leave
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.branches import Choices, chosen
from gradledger.static.lower.condition_keys import counts_rounds
from gradledger.static.lower.spelling import called_name
from gradledger.static.models import facts
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

NO_SYNC = Pattern("no_sync", words=("no_sync",))

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.no_sync import Choice

NO_GRAD = frozenset({"no_grad", "inference_mode"})
LEAVES_GRAPHS_ALONE = frozenset(
    {
        *("autocast", "enable_grad", "no_sync", "accumulate", "scale_loss", "detect_anomaly"),
        *("tqdm", "trange", "open", "SummaryWriter", "record_function", "profile"),
    }
)
"""Managers that surely do not switch the recording of graphs off."""


class Halves(NamedTuple):
    """A generator that yields once, cut there."""

    before: list[ast.stmt]
    given: ast.expr | None
    rest: list[ast.stmt]


class Managers(Choices):
    """Managers of torch, of frameworks, and of the project itself."""

    def managing(self, node: ast.With | ast.AsyncWith) -> None:
        """`with`: what the managers change, is changed inside."""
        choice = self._choice_of_syncs(node)
        asked = None if choice is None else self.condition(choice.test)
        if choice is None or asked is None or not counts_rounds(asked):
            self._managed(node)
            return
        net = self.eval_quietly(choice.net)
        keys = frozenset({net.key} if isinstance(net, Thing) and net.key else ())
        self.note(SyncsByOption, self.at(node), keys)
        held, free = partial(self._managed, node, local=True), partial(self._managed, node, False)
        ways = (held, free) if choice.if_true else (free, held)
        self.out.append(chosen(asked, *self.both(*ways)))

    def _choice_of_syncs(self, node: ast.With | ast.AsyncWith) -> Choice | None:
        """The condition by which a net of many ranks holds back its syncs in all of the block."""
        if "no_sync" not in self.scope.module.source or self.local is not None:
            return None
        from gradledger.static.lower.no_sync import choice_round_all

        choice = choice_round_all(self.scope.node or self.scope.module.tree, node)
        net = None if choice is None else self.eval_quietly(choice.net)
        return choice if isinstance(net, Thing) and net.replicated else None

    def _managed(self, node: ast.With | ast.AsyncWith, local: bool | None = None) -> None:
        grad, outer, accumulating = self.grad_enabled, self.local, self.accumulating
        maybe, autocast, doubt = self.no_sync_maybe, self.autocast, self.grad_in_doubt
        after: list[Callable[[], None]] = []
        for item in node.items:
            self._enter_manager(item, after)
        if local is not None:
            self.local = local
        elif self._holds_back_too_late(node):
            self.local = True
        self.run(node.body)
        self.grad_enabled, self.local, self.accumulating = grad, outer, accumulating
        self.no_sync_maybe, self.autocast, self.grad_in_doubt = maybe, autocast, doubt
        if not (self.out and isinstance(self.out[-1], Leave)):
            for leave in after:
                leave()

    def _holds_back_too_late(self, node: ast.With | ast.AsyncWith) -> bool:
        """Is it `no_sync()` under some condition, where the forward has been?"""
        around, module = self.scope.node, self.scope.module
        if not (module.says_anywhere(NO_SYNC) if around is None else module.says(NO_SYNC, around)):
            return False
        from gradledger.static.lower.no_sync import round_backwards_alone

        return round_backwards_alone(around or module.tree, node)

    def _enter_manager(self, item: ast.withitem, after: list[Callable[[], None]]) -> None:
        manager = item.context_expr
        name, call = self._name_of(manager), manager if isinstance(manager, ast.Call) else None
        if name not in LEAVES_GRAPHS_ALONE:
            self.grad_in_doubt = True
        if name in NO_GRAD:
            self.grad_enabled = False
            return
        if name == "autocast":
            self.autocast = True
        if name == "set_grad_enabled" and call and call.args:
            enabled = self.condition(call.args[0])
            if enabled is False:
                self.grad_enabled = False
            return
        if name in ("no_sync", "no_backward_sync") and call:
            enabled_value = next(
                (self.eval(k.value) for k in call.keywords if k.arg == "enabled"), None
            )
            if enabled_value is None or enabled_value == Constant.of(True):
                self.local = True
            else:
                self.no_sync_maybe = True
            return
        if name == "graph" and "cuda" in ast.unparse(manager):
            self.hooked = True  # what is captured is played again, out of sight
            return
        if name == "enable_grad":
            self.grad_enabled = True
            return
        if self._may_hold_back_syncs(manager):
            self.no_sync_maybe = True
        if isinstance(manager, ast.IfExp) or name in ("nullcontext", "get_context", "ctx"):
            return
        if name == "scale_loss" and call and call.args:
            self._apex(call, item, after)
            return
        if name == "accumulate" and call:
            self.accumulate(call)
            return
        if call and self._switches_off(call):
            self.grad_enabled = False
        if call and (made := self._written_as_generator(call)):
            value = self._enter_generator(made, call, after)
        else:
            value = self._enter_object(self.eval(manager), manager, after)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, value if isinstance(value, Thing) else UNKNOWN)

    def _name_of(self, manager: ast.expr) -> str:
        """What torch calls it: `from torch import no_grad as frozen` does not change that."""
        if isinstance(manager, ast.Call) and isinstance(manager.func, ast.Name):
            made = self.eval_quietly(manager.func)
            if isinstance(made, External) and made.dotted.startswith("torch."):
                return facts.last(made.dotted)
        return called_name(manager)

    # The project's own

    def _enter_object(self, value: Known, node: ast.expr, after: list[Callable[[], None]]) -> Known:
        """`__enter__` is called here, and `__exit__` after the block."""
        cls = value.cls if isinstance(value, Thing) else None
        if cls is None:
            return value
        enter, leave = self.method(cls, "__enter__"), self.method(cls, "__exit__")
        if enter is None or leave is None:
            return value
        frozen = self.frozen
        entered = self.call_function(replace(enter, bound=value), Arguments(), node)
        thaws = self.frozen != frozen

        def exit_it() -> None:
            self.call_function(replace(leave, bound=value), Arguments((NONE, NONE, NONE)), node)
            if thaws:  # to what was found, whatever that was
                self.frozen = frozen

        after.append(exit_it)
        return value if entered == NONE else entered

    def _switches_off(self, call: ast.Call) -> bool:
        """Is it a function of the project's own that yields inside of `no_grad()`?"""
        made = self.eval_quietly(call.func)
        if not isinstance(made, FunctionDef) or "yield" not in made.module.text(made.node):
            return False
        return any(
            isinstance(block, ast.With)
            and any(called_name(item.context_expr) in NO_GRAD for item in block.items)
            and any(isinstance(inner, ast.Yield) for inner in ast.walk(block))
            for block in ast.walk(made.node)
        )

    def _written_as_generator(self, call: ast.Call) -> tuple[FunctionDef, Halves] | None:
        """A function under `@contextmanager` that does things to gradients."""
        made = self.eval_quietly(call.func)
        if not isinstance(made, FunctionDef) or not self.is_interesting(made):
            return None
        halves = _halves(made.node)
        return (made, halves) if halves is not None else None

    def _enter_generator(
        self,
        made: tuple[FunctionDef, Halves],
        call: ast.Call,
        after: list[Callable[[], None]],
    ) -> Known:
        """What stands before the `yield` is done here, and the rest after the block."""
        function, (before, given, rest) = made
        arguments, frozen = self.arguments(call), self.frozen
        scope = self.new_scope(
            function.node.name,  # type: ignore[union-attr]
            function.module,
            parent=function.scope,
            via=self.at(call),
            node=function.node,
        )
        with self.inside(scope):
            self.bind_arguments(function, scope, arguments)
            self.run(before)
            value = UNKNOWN if given is None else self.eval(given)
        thaws = self.frozen != frozen

        def exit_it() -> None:
            with self.inside(scope):
                self.run(rest)
            if thaws:
                self.frozen = frozen

        after.append(exit_it)
        return value

    def _may_hold_back_syncs(self, manager: ast.expr) -> bool:
        """Is it `no_sync()` under some condition, or a manager of the project's own round that?"""
        if "sync" in self.scope.module.text(manager):
            return True
        made = self.eval_quietly(manager.func) if isinstance(manager, ast.Call) else None
        return isinstance(made, FunctionDef | ClassDef) and "sync" in made.module.text(made.node)

    def accumulate(self, call: ast.Call) -> None:
        """`with accelerator.accumulate(model)`."""
        raise NotImplementedError

    def _apex(self, call: ast.Call, item: ast.withitem, after: list[Callable[[], None]]) -> None:
        """`with amp.scale_loss(loss, optimizer) as scaled`: unscaled again at its end."""
        raise NotImplementedError


def _halves(function: ast.AST) -> Halves | None:
    """The generator under `@contextmanager`, if it is plain where it yields."""
    decorators = getattr(function, "decorator_list", ())
    if not any("contextmanager" in ast.unparse(decorator) for decorator in decorators):
        return None
    inside = list(ast.walk(function))
    if sum(isinstance(inner, ast.Yield) for inner in inside) != 1:
        return None
    if any(isinstance(inner, ast.Return) for inner in inside):
        return None
    return _cut(getattr(function, "body", []))


def _cut(body: list[ast.stmt]) -> Halves | None:
    for number, statement in enumerate(body):
        before, rest = body[:number], body[number + 1 :]
        match statement:
            case ast.Expr(value=ast.Yield(value=given)):
                return Halves(before, given, rest)
            case ast.Try(body=tried, finalbody=final) if inner := _cut(tried):
                return Halves(before + inner.before, inner.given, inner.rest + final + rest)
    return None
