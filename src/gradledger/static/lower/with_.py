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
from gradledger.static.lower.arguments import Arguments, bind_arguments
from gradledger.static.lower.attributes import method_of
from gradledger.static.lower.branches import chosen
from gradledger.static.lower.call_graph import is_interesting
from gradledger.static.lower.condition_keys import counts_rounds
from gradledger.static.lower.conditions import condition
from gradledger.static.lower.inline import call_function
from gradledger.static.lower.noting import note
from gradledger.static.lower.quiet_values import eval_quietly
from gradledger.static.lower.scope_names import is_local, new_scope
from gradledger.static.lower.spelling import called_name
from gradledger.static.lower.unknown_calls import arguments_of
from gradledger.static.models import facts
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

NO_SYNC = Pattern("no_sync", words=("no_sync",))

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine
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


def run_with(machine: Machine, node: ast.With | ast.AsyncWith) -> None:
    """`with`: what the managers change, is changed inside."""
    choice = _choice_of_syncs(machine, node)
    asked = None if choice is None else condition(machine, choice.test)
    if choice is None or asked is None or not counts_rounds(asked):
        _managed(machine, node)
        return
    net = eval_quietly(machine, choice.net)
    keys = frozenset({net.key} if isinstance(net, Thing) and net.key else ())
    note(machine, SyncsByOption, machine.at(node), keys)
    held, free = (
        partial(partial(_managed, machine), node, local=True),
        partial(partial(_managed, machine), node, False),
    )
    ways = (held, free) if choice.if_true else (free, held)
    machine.out.append(chosen(asked, *machine.both(*ways)[:2]))


def _choice_of_syncs(machine: Machine, node: ast.With | ast.AsyncWith) -> Choice | None:
    """The condition by which a net of many ranks holds back its syncs in all of the block."""
    if "no_sync" not in machine.context.scope.module.source or is_local(machine) is not None:
        return None
    from gradledger.static.lower.no_sync import choice_round_all

    choice = choice_round_all(machine.context.scope.node or machine.context.scope.module.tree, node)
    net = None if choice is None else eval_quietly(machine, choice.net)
    return choice if isinstance(net, Thing) and net.replicated else None


def _managed(machine: Machine, node: ast.With | ast.AsyncWith, local: bool | None = None) -> None:
    after: list[Callable[[], None]] = []
    with machine.within():
        for item in node.items:
            _enter_manager(machine, item, after)
        if local is not None:
            _stand(machine, local=local)
        elif _holds_back_too_late(machine, node):
            _stand(machine, local=True)
        machine.run(node.body)
    if not (machine.out and isinstance(machine.out[-1], Leave)):
        for leave in after:
            leave()


def _stand(machine: Machine, **changes: bool) -> None:
    """Changes what is around, until the `with` at hand ends."""
    machine.context = replace(machine.context, **changes)


def _holds_back_too_late(machine: Machine, node: ast.With | ast.AsyncWith) -> bool:
    """Is it `no_sync()` under some condition, where the forward has been?"""
    around, module = machine.context.scope.node, machine.context.scope.module
    if not (module.says_anywhere(NO_SYNC) if around is None else module.says(NO_SYNC, around)):
        return False
    from gradledger.static.lower.no_sync import round_backwards_alone

    return round_backwards_alone(around or module.tree, node)


def _enter_manager(machine: Machine, item: ast.withitem, after: list[Callable[[], None]]) -> None:
    manager = item.context_expr
    name, call = _name_of(machine, manager), manager if isinstance(manager, ast.Call) else None
    if name not in LEAVES_GRAPHS_ALONE:
        _stand(machine, grad_in_doubt=True)
    if name in NO_GRAD:
        _stand(machine, grad_enabled=False)
        return
    if name == "autocast":
        _stand(machine, autocast=True)
    if name == "set_grad_enabled" and call and call.args:
        enabled = condition(machine, call.args[0])
        if enabled is False:
            _stand(machine, grad_enabled=False)
        return
    if name in ("no_sync", "no_backward_sync") and call:
        enabled_value = next(
            (machine.eval(k.value) for k in call.keywords if k.arg == "enabled"), None
        )
        if enabled_value is None or enabled_value == Constant.of(True):
            _stand(machine, local=True)
        else:
            _stand(machine, no_sync_maybe=True)
        return
    if name == "graph" and "cuda" in ast.unparse(manager):
        machine.log.hooked = True  # what is captured is played again, out of sight
        return
    if name == "enable_grad":
        _stand(machine, grad_enabled=True)
        return
    if _may_hold_back_syncs(machine, manager):
        _stand(machine, no_sync_maybe=True)
    if isinstance(manager, ast.IfExp) or name in ("nullcontext", "get_context", "ctx"):
        return
    enter = machine.libraries.managers.get(name)
    if enter is not None and call:
        enter(machine, call, item, after)
        return
    if call and _switches_off(machine, call):
        _stand(machine, grad_enabled=False)
    if call and (made := _written_as_generator(machine, call)):
        value = _enter_generator(machine, made, call, after)
    else:
        value = _enter_object(machine, machine.eval(manager), manager, after)
    if item.optional_vars is not None:
        machine.assign(item.optional_vars, value if isinstance(value, Thing) else UNKNOWN)


def _name_of(machine: Machine, manager: ast.expr) -> str:
    """What torch calls it: `from torch import no_grad as frozen` does not change that."""
    if isinstance(manager, ast.Call) and isinstance(manager.func, ast.Name):
        made = eval_quietly(machine, manager.func)
        if isinstance(made, External) and made.dotted.startswith("torch."):
            return facts.last(made.dotted)
    return called_name(manager)


# The project's own


def _enter_object(
    machine: Machine, value: Known, node: ast.expr, after: list[Callable[[], None]]
) -> Known:
    """`__enter__` is called here, and `__exit__` after the block."""
    cls = value.cls if isinstance(value, Thing) else None
    if cls is None:
        return value
    enter, leave = method_of(machine, cls, "__enter__"), method_of(machine, cls, "__exit__")
    if enter is None or leave is None:
        return value
    frozen = machine.flow.frozen
    entered = call_function(machine, replace(enter, bound=value), Arguments(), node)
    thaws = machine.flow.frozen != frozen

    def exit_it() -> None:
        call_function(machine, replace(leave, bound=value), Arguments((NONE, NONE, NONE)), node)
        if thaws:  # to what was found, whatever that was
            machine.flow = replace(machine.flow, frozen=frozen)

    after.append(exit_it)
    return value if entered == NONE else entered


def _switches_off(machine: Machine, call: ast.Call) -> bool:
    """Is it a function of the project's own that yields inside of `no_grad()`?"""
    made = eval_quietly(machine, call.func)
    if not isinstance(made, FunctionDef) or "yield" not in made.module.text(made.node):
        return False
    return any(
        isinstance(block, ast.With)
        and any(called_name(item.context_expr) in NO_GRAD for item in block.items)
        and any(isinstance(inner, ast.Yield) for inner in ast.walk(block))
        for block in ast.walk(made.node)
    )


def _written_as_generator(machine: Machine, call: ast.Call) -> tuple[FunctionDef, Halves] | None:
    """A function under `@contextmanager` that does things to gradients."""
    made = eval_quietly(machine, call.func)
    if not isinstance(made, FunctionDef) or not is_interesting(machine, made):
        return None
    halves = _halves(made.node)
    return (made, halves) if halves is not None else None


def _enter_generator(
    machine: Machine,
    made: tuple[FunctionDef, Halves],
    call: ast.Call,
    after: list[Callable[[], None]],
) -> Known:
    """What stands before the `yield` is done here, and the rest after the block."""
    function, (before, given, rest) = made
    arguments, frozen = arguments_of(machine, call), machine.flow.frozen
    scope = new_scope(
        machine,
        function.node.name,  # type: ignore[union-attr]
        function.module,
        parent=function.scope,
        via=machine.at(call),
        node=function.node,
    )
    with machine.within(scope=scope):
        bind_arguments(machine, function, scope, arguments)
        machine.run(before)
        value = UNKNOWN if given is None else machine.eval(given)
    thaws = machine.flow.frozen != frozen

    def exit_it() -> None:
        with machine.within(scope=scope):
            machine.run(rest)
        if thaws:
            machine.flow = replace(machine.flow, frozen=frozen)

    after.append(exit_it)
    return value


def _may_hold_back_syncs(machine: Machine, manager: ast.expr) -> bool:
    """Is it `no_sync()` under some condition, or a manager of the project's own round that?"""
    if "sync" in machine.context.scope.module.text(manager):
        return True
    made = eval_quietly(machine, manager.func) if isinstance(manager, ast.Call) else None
    return isinstance(made, FunctionDef | ClassDef) and "sync" in made.module.text(made.node)


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
