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
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.call_graph import has_no_graph, is_decorated, length_of
from gradledger.static.lower.unfollowed_calls import PassingOver
from gradledger.static.project.module import ATTRIBUTES
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import CUTS_IN_PLACE, DOES

_NUMBER = Pattern(r"#(\d+)")


SET_BACK = Pattern(
    r"self\.\w+[ \t]*=[ \t]*(?:0(?:\.0*)?|None|\[\]|\{\}|list\(\)|dict\(\)|\[0)(?!\w)",
    words=("self.",),
)
"""Words of methods that make attributes what they are when nothing has been added to them."""

OF_NOTHING = frozenset({"builtins.object", "abc.ABC"})
"""Bases that bring a class nothing of their own."""


class Inlining(PassingOver):
    """Calls of the project's own functions."""

    backwards = 0
    """How many backward passes the walk has met."""
    no_sync_maybe = False

    def call_function(
        self,
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
                self.cut(argument)
        if self.frozen and self._attaches(function):
            bound = () if function.bound is None else (function.bound,)
            self.may_thaw((*bound, *arguments.values()), node)
        if not (root or always or self._is_worth_following(function, arguments)):
            made = self._unfollowed(function, arguments, node)
            if isinstance(made, Thing) and self.wraps_for_ranks(function):
                return replace(made, plain=False, replicated=True)
            return made
        self.inlined.add(id(function.node))
        if id(function.node) in self.stack or len(self.stack) >= budget.DEEPEST_CALL:
            if function.module.says(DOES, function.node):
                self.emit(HandsOver(self.at(node)))
                self.note_unknown(node, "functions call each other without end")
            return self._unfollowed(function, arguments, node)
        if self.is_generator(function):
            if function.module.says(DOES, function.node):
                self.note_unknown(node, "a generator does things to gradients")
            return UNKNOWN
        if isinstance(node, ast.Call) and arguments.values():
            arguments = self._with_nets(function, arguments, node)
        again = self.closed.get(id(function.node))
        if again is not None and not self.loops and all(map(is_plain, arguments.values())):
            return again
        return self._followed(function, arguments, node, root=root)

    def _with_nets(self, function: FunctionDef, arguments: Arguments, node: ast.Call) -> Arguments:
        """What a call hands over, the nets under the names that they have for him who calls.

        What is made of nothing but data is taken for data, until somebody asks for its parameters.
        """
        unnamed = any(isinstance(v, Thing) and _may_be_a_net(v) for v in arguments.values())
        if not unnamed or len(arguments.positional) != len(node.args):
            return arguments
        from gradledger.static.lower.module_parameters import handed

        nets: dict[ast.expr, Known] = {}
        asked = self.asked_for_parameters(function)
        for name, spelled in handed(function, node) if asked else ():
            key = self.key_of(spelled) if name in asked else ""
            given = self.store.get(key)
            if isinstance(given, Thing) and _may_be_a_net(given):
                nets[spelled] = Thing(key)
                self.rebind(spelled, nets[spelled])
        named = {k.arg: nets[k.value] for k in node.keywords if k.arg and k.value in nets}
        return Arguments(
            tuple(map(nets.get, node.args, arguments.positional)), arguments.named | named
        )

    def _is_worth_following(self, function: FunctionDef, arguments: Arguments) -> bool:
        return (
            self.is_interesting(function)
            or self.acts_on_what_it_has(function, arguments.values())
            or (bool(self.optimizers) and self.sums_up(function))
            or self._fills_in(function)
        )

    def _fills_in(self, function: FunctionDef) -> bool:
        """Does it give its object what that had not yet, or set it back to where it began?"""
        owner = function.bound.key if isinstance(function.bound, Thing) else ""
        if not owner or length_of(function.node) >= budget.SMALL_FUNCTION:
            return False
        text = function.module.text(function.node)
        if any(self.store.get(f"{owner}.{name}") == NONE for name in ATTRIBUTES.findall(text)):
            return True
        return bool(self.loops) and function.module.says(SET_BACK, function.node)

    def _followed(
        self, function: FunctionDef, arguments: Arguments, node: ast.AST, *, root: bool
    ) -> Known:
        """Walks through the function, as a block of its own."""
        begun, before = self._scope_count, set(self.optimizers)
        scope = self.new_scope(
            getattr(function.node, "name", "lambda"),
            function.module,
            parent=function.scope,
            via=None if root else self.at(node),
            node=function.node,
        )
        self.stack.append(id(function.node))
        enabled, doubt = self.grad_enabled, self.grad_in_doubt
        self.grad_enabled = enabled and not has_no_graph(function.node)
        self.grad_in_doubt = doubt or is_decorated(function.node)
        try:
            body = self.block(lambda: self._enter(function, scope, arguments, root=root))
        finally:
            self.stack.pop()
            self.grad_enabled, self.grad_in_doubt = enabled, doubt
        if acts(body) or holds(body, Resumes):
            self.out.append(Call(body))
        value, *others = self._fitting(scope.returned, node) or [NONE]
        for other in others:
            value = join(value, other)
        if self.loops and holds(body, Keep):
            self._let_go(scope, value, node)
        trains = not self.loops and is_plain(value) and holds(body, Spends)
        if trains and self._is_closed(body, begun, before):
            # The next call, as for another fold of the data, does the same to other things.
            self.closed[id(function.node)] = value
        return value

    def _fitting(self, returned: list[Known], node: ast.AST) -> list[Known]:
        """Of what a function may return, that which fits where the caller unpacks it."""
        call, number = self.unpacked
        several: list[Known] = [
            v for v in returned if isinstance(v, Items) and len(v.values) == number
        ]
        return several if call is node and several else returned

    def _let_go(self, scope: Scope, returned: Known, node: ast.AST) -> None:
        """What only a function's own names hold goes with them."""
        arguments = getattr(scope.node, "args", None)
        inside = ast.walk(arguments) if isinstance(arguments, ast.arguments) else ()
        given = {scope.id + each.arg for each in inside if isinstance(each, ast.arg)}
        own, others = NO_PLACES, kept_in(returned)
        for name, value in self.store.items():
            if name.startswith(scope.id) and name not in given:
                own |= kept_in(value)
            else:
                others |= kept_in(value)
        self.release(own - others, node)

    def _is_closed(self, body: Program, begun: int, before: set[str]) -> bool:
        """Does it deposit, spend and clear only what was made in it, from this number on?"""
        made = {n for n, o in self.optimizers.items() if n not in before and not o.outside}
        held = [o.keys for o in self.optimizers.values()]

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

    def property_of(self, method: FunctionDef, thing: Thing, name: str) -> Known:
        """What a property returns; under its own name where that is not known."""
        fallback = Thing(f"{thing.key}.{name}" if thing.key else "", thing.reach)
        if not self.is_interesting(method):
            return fallback
        value = self.quietly(lambda: self.call_function(method, Arguments(), method.node))
        return fallback if isinstance(value, Thing | Constant) else value

    def _enter(
        self, function: FunctionDef, scope: Scope, arguments: Arguments, *, root: bool
    ) -> None:
        with self.inside(scope):
            self.bind_arguments(function, scope, arguments, root=root)
            if isinstance(function.node, ast.Lambda):
                scope.returned.append(self.eval(function.node.body))
            else:
                self.run(function.node.body)

    def instantiate(self, cls: ClassDef, arguments: Arguments, node: ast.AST) -> Known:
        """An object of a class of the project."""
        self._scope_count += 1
        thing = Thing(f"{cls.node.name}#{self._scope_count}", cls=cls)
        self.store[thing.key] = thing
        if self.loops:
            self.loops[-1].born.add(thing.key)
        if self.loops or self.reached:  # what others got so far is none of its business
            self.emit(Renews(self.at(node), frozenset({thing.key})))
        init = self.method(cls, "__init__")
        if init is not None:
            # What a plain object keeps of what it is given is the same thing by another name.
            plain = (
                OF_NOTHING.issuperset(self.bases_outside(cls))
                and length_of(init.node) < budget.SMALL_FUNCTION
            )
            self.call_function(replace(init, bound=thing), arguments, node, always=plain)
        return thing

    def run(self, body: list[ast.stmt]) -> None:
        """Walks through statements."""
        raise NotImplementedError


def _may_be_a_net(value: Thing) -> bool:
    """Is it taken for data, though nobody has seen any?"""
    return value.plain and not (value.key or value.shape or value.built)


def _number(key: str) -> int:
    """Of the call, or the object, that the key belongs to; 0 where it belongs to none."""
    found = _NUMBER.search(key)
    return int(found[1]) if found else 0
