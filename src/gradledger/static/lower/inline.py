"""Functions, followed where they are called."""

from __future__ import annotations

from gradledger.ledger.events import Keep
from gradledger.ledger.values import replace
from gradledger.static import budget
from gradledger.static.domain.join import join
from gradledger.static.domain.scopes import Scope
from gradledger.static.domain.values import (
    NO_PLACES,
    NONE,
    UNKNOWN,
    ClassDef,
    Constant,
    FunctionDef,
    Items,
    Known,
    Thing,
    is_plain,
    kept_in,
)
from gradledger.static.ir.blocks import acts, events_in, holds
from gradledger.static.ir.effects import (
    Clears,
    Deposits,
    Effect,
    HandsOver,
    Renews,
    Resumes,
    Spends,
    TakesOver,
)
from gradledger.static.ir.keys import within
from gradledger.static.ir.program import Call, Program
from gradledger.static.lower.arguments import Arguments, bind_arguments
from gradledger.static.lower.attributes import bases_outside, method_of
from gradledger.static.lower.call_graph import (
    acts_on_what_it_has,
    asked_for_parameters,
    is_generator,
    is_interesting,
    sums_up,
    wraps_for_ranks,
)
from gradledger.static.lower.expressions import cut, release
from gradledger.static.lower.function_text import has_no_graph, is_decorated, length_of
from gradledger.static.lower.names import key_of
from gradledger.static.lower.return_values import quietly
from gradledger.static.lower.scope_names import new_scope, note_unknown
from gradledger.static.lower.unfollowed_calls import attaches, may_thaw, unfollowed_result
from gradledger.static.project.module import ATTRIBUTES
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import CUTS_IN_PLACE, DOES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

_NUMBER = Pattern(r"#(\d+)")


SET_BACK = Pattern(
    r"self\.\w+[ \t]*=[ \t]*(?:0(?:\.0*)?|None|\[\]|\{\}|list\(\)|dict\(\)|\[0)(?!\w)",
    words=("self.",),
)
"""Words of methods that make attributes what they are when nothing has been added to them."""

OF_NOTHING = frozenset({"builtins.object", "abc.ABC"})
"""Bases that bring a class nothing of their own."""


def call_function(
    machine: Machine,
    function: FunctionDef,
    arguments: Arguments,
    node: ast.AST,
    *,
    root: bool = False,
    always: bool = False,
) -> Known:
    """The function's result; what it does is written down here, where it is called."""
    if isinstance(node, ast.Call) and function.module.says(CUTS_IN_PLACE, function.node):
        for argument in node.args:
            cut(machine, argument)
    if machine.flow.frozen and attaches(machine, function):
        bound = () if function.bound is None else (function.bound,)
        may_thaw(machine, (*bound, *arguments.values()), node)
    if not (root or always or _is_worth_following(machine, function, arguments)):
        if function.cls is not None:
            from gradledger.static.lower.abstract_classes import watch_empty_method

            watch_empty_method(machine, function, node)
        made = unfollowed_result(machine, function, arguments, node)
        if isinstance(made, Thing) and wraps_for_ranks(machine, function):
            return replace(made, plain=False, replicated=True)
        return made
    machine.log.inlined.add(id(function.node))
    if (
        id(function.node) in machine.context.stack
        or len(machine.context.stack) >= budget.DEEPEST_CALL
    ):
        if function.module.says(DOES, function.node):
            machine.emit(HandsOver(machine.at(node)))
            note_unknown(machine, node, "functions call each other without end")
        return unfollowed_result(machine, function, arguments, node)
    if is_generator(machine, function):
        if function.module.says(DOES, function.node):
            note_unknown(machine, node, "a generator does things to gradients")
        return UNKNOWN
    if isinstance(node, ast.Call) and arguments.values():
        arguments = _with_nets(machine, function, arguments, node)
    again = machine.log.closed.get(id(function.node))
    if again is not None and not machine.context.loops and all(map(is_plain, arguments.values())):
        return again
    return follow(machine, function, arguments, node, root=root)


def _with_nets(
    machine: Machine, function: FunctionDef, arguments: Arguments, node: ast.Call
) -> Arguments:
    """What a call hands over, the nets under the names that they have for him who calls.

    What is made of nothing but data is taken for data, until somebody asks for its parameters.
    """
    unnamed = any(isinstance(v, Thing) and _may_be_a_net(v) for v in arguments.values())
    if not unnamed or len(arguments.positional) != len(node.args):
        return arguments
    from gradledger.static.lower.module_parameters import handed

    nets: dict[ast.expr, Known] = {}
    asked = asked_for_parameters(machine, function)
    for name, spelled in handed(function, node) if asked else ():
        key = key_of(machine, spelled) if name in asked else ""
        given = machine.flow.store.get(key)
        if isinstance(given, Thing) and _may_be_a_net(given):
            nets[spelled] = Thing(key)
            machine.rebind(spelled, nets[spelled])
    named = {k.arg: nets[k.value] for k in node.keywords if k.arg and k.value in nets}
    return Arguments(tuple(map(nets.get, node.args, arguments.positional)), arguments.named | named)


def _is_worth_following(machine: Machine, function: FunctionDef, arguments: Arguments) -> bool:
    return (
        is_interesting(machine, function)
        or acts_on_what_it_has(machine, function, arguments.values())
        or (bool(machine.log.optimizers) and sums_up(machine, function))
        or _fills_in(machine, function)
    )


def _fills_in(machine: Machine, function: FunctionDef) -> bool:
    """Does it give its object what that had not yet, or set it back to where it began?"""
    owner = function.bound.key if isinstance(function.bound, Thing) else ""
    if not owner or length_of(function.node) >= budget.SMALL_FUNCTION:
        return False
    text = function.module.text(function.node)
    if any(machine.flow.store.get(f"{owner}.{name}") == NONE for name in ATTRIBUTES.findall(text)):
        return True
    return bool(machine.context.loops) and function.module.says(SET_BACK, function.node)


def follow(
    machine: Machine, function: FunctionDef, arguments: Arguments, node: ast.AST, *, root: bool
) -> Known:
    """Walks through the function, as a block of its own."""
    begun, before = machine.log.numbered, set(machine.log.optimizers)
    scope = new_scope(
        machine,
        getattr(function.node, "name", "lambda"),
        function.module,
        parent=function.scope,
        via=None if root else machine.at(node),
        node=function.node,
    )
    context = machine.context
    with machine.within(
        stack=(*context.stack, id(function.node)),
        grad_enabled=context.grad_enabled and not has_no_graph(function.node),
        grad_in_doubt=context.grad_in_doubt or is_decorated(function.node),
    ):
        body = machine.block(lambda: _enter(machine, function, scope, arguments, root=root))
    if acts(body) or holds(body, Resumes):
        machine.out.append(Call(body))
    value, *others = _fitting(machine, scope.returned, node) or [NONE]
    for other in others:
        value = join(value, other)
    if machine.context.loops and holds(body, Keep):
        _let_go(machine, scope, value, node)
    trains = not machine.context.loops and is_plain(value) and holds(body, Spends)
    if trains and _is_closed(machine, body, begun, before):
        # The next call, as for another fold of the data, does the same to other things.
        machine.log.closed[id(function.node)] = value
    return value


def _fitting(machine: Machine, returned: list[Known], node: ast.AST) -> list[Known]:
    """Of what a function may return, that which fits where the caller unpacks it."""
    call, number = machine.context.unpacked
    several: list[Known] = [v for v in returned if isinstance(v, Items) and len(v.values) == number]
    return several if call is node and several else returned


def _let_go(machine: Machine, scope: Scope, returned: Known, node: ast.AST) -> None:
    """What only a function's own names hold goes with them."""
    arguments = getattr(scope.node, "args", None)
    inside = ast.walk(arguments) if isinstance(arguments, ast.arguments) else ()
    given = {scope.id + each.arg for each in inside if isinstance(each, ast.arg)}
    own, others = NO_PLACES, kept_in(returned)
    for name, value in machine.flow.store.items():
        if name.startswith(scope.id) and name not in given:
            own |= kept_in(value)
        else:
            others |= kept_in(value)
    release(machine, own - others, node)


def _is_closed(machine: Machine, body: Program, begun: int, before: set[str]) -> bool:
    """Does it deposit, spend and clear only what was made in it, from this number on?"""
    made = {n for n, o in machine.log.optimizers.items() if n not in before and not o.outside}
    held = [o.keys for o in machine.log.optimizers.values()]

    def is_own(key: str) -> bool:
        return _number(key) > begun or not any(
            keys is None or any(within(key, k) or within(k, key) for k in keys) for keys in held
        )

    def concerns_none_else(event: Effect) -> bool:
        if event.optimizer or isinstance(event, TakesOver):
            return not event.optimizer or event.optimizer in made
        # Of a deposit that nobody can trace, anybody may get a part.
        traced = bool(event.keys) or not isinstance(event, Deposits | Clears)
        return traced and all(map(is_own, event.keys))

    return all(concerns_none_else(e) for e in events_in(body) if isinstance(e, Effect))


def property_of(machine: Machine, method: FunctionDef, thing: Thing, name: str) -> Known:
    """What a property returns; under its own name where that is not known."""
    fallback = Thing(f"{thing.key}.{name}" if thing.key else "", thing.reach)
    if not is_interesting(machine, method):
        return fallback
    value = quietly(machine, lambda: call_function(machine, method, Arguments(), method.node))
    return fallback if isinstance(value, Thing | Constant) else value


def _enter(
    machine: Machine, function: FunctionDef, scope: Scope, arguments: Arguments, *, root: bool
) -> None:
    with machine.within(scope=scope):
        bind_arguments(machine, function, scope, arguments, root=root)
        if isinstance(function.node, ast.Lambda):
            scope.returned.append(machine.eval(function.node.body))
        else:
            machine.run(function.node.body)


def make_object(machine: Machine, cls: ClassDef, arguments: Arguments, node: ast.AST) -> Known:
    """An object of a class of the project."""
    machine.log.numbered += 1
    thing = Thing(f"{cls.node.name}#{machine.log.numbered}", cls=cls)
    machine.set(thing.key, thing)
    if machine.context.loops:
        machine.context.loops[-1].born.add(thing.key)
    if (
        machine.context.loops or machine.log.reached
    ):  # what others got so far is none of its business
        machine.emit(Renews(machine.at(node), frozenset({thing.key})))
    init = method_of(machine, cls, "__init__")
    if init is not None:
        # What a plain object keeps of what it is given is the same thing by another name.
        plain = (
            OF_NOTHING.issuperset(bases_outside(machine, cls))
            and length_of(init.node) < budget.SMALL_FUNCTION
        )
        call_function(machine, replace(init, bound=thing), arguments, node, always=plain)
    return thing


def _may_be_a_net(value: Thing) -> bool:
    """Is it taken for data, though nobody has seen any?"""
    return value.plain and not (value.key or value.shape or value.built)


def _number(key: str) -> int:
    """Of the call, or the object, that the key belongs to; 0 where it belongs to none."""
    found = _NUMBER.search(key)
    return int(found[1]) if found else 0
