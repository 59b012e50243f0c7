"""Functions, followed where they are called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from gradledger.ledger.tuples import NamedTuple
from gradledger.ledger.values import replace
from gradledger.static.lowering.blocks import acts, events_in, holds
from gradledger.static.lowering.effects import (
    Clears,
    Deposits,
    Effect,
    HandsOver,
    Renews,
    Spends,
)
from gradledger.static.lowering.expressions import Expressions
from gradledger.static.lowering.joining import join
from gradledger.static.lowering.knowledge import Callee
from gradledger.static.lowering.state import DEEPEST, Scope
from gradledger.static.lowering.values import (
    NO_KEYS,
    NONE,
    PLAIN,
    UNKNOWN,
    ClassDef,
    Constant,
    FunctionDef,
    Imported,
    Items,
    Known,
    Optimizer,
    Thing,
    is_plain,
    reach_of,
    within,
)
from gradledger.static.patterns import Pattern
from gradledger.static.program import Call, Program
from gradledger.static.project import (
    ATTRIBUTES,
    CUTS,
    CUTS_IN_PLACE,
    DEPOSITS,
    DETACHES,
    DOES,
    HOOKS,
    NO_GRADIENTS,
    SMALL,
    SPENDS,
    SUPER_CALLS,
    TOUCHES,
    Module,
)

_NUMBER = Pattern(r"#(\d+)")


class Arguments(NamedTuple):
    """What a call hands over."""

    positional: tuple[Known, ...] = ()
    named: dict[str, Known] = {}  # noqa: RUF012 - never changed

    def get(self, place: int, name: str) -> Known | None:
        """An argument, by its place or its name."""
        if place < len(self.positional):
            return self.positional[place]
        return self.named.get(name)

    def values(self) -> list[Known]:
        """All of them."""
        return [*self.positional, *self.named.values()]


class Inlining(Expressions):
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
        if not (root or always or self.is_interesting(function)):
            return self._unfollowed(function, arguments, node)
        self.inlined.add(id(function.node))
        if id(function.node) in self.stack or len(self.stack) >= DEEPEST:
            if function.module.says(DOES, function.node):
                self.emit(HandsOver(self.at(node)))
                self.note_unknown(node, "functions call each other without end")
            return self._unfollowed(function, arguments, node)
        generator = self.known.generators.get(id(function.node))
        if generator is None:
            generator = _is_generator(function)
            self.known.generators[id(function.node)] = generator
        if generator:
            if function.module.says(DOES, function.node):
                self.note_unknown(node, "a generator does things to gradients")
            return UNKNOWN
        again = self.closed.get(id(function.node))
        if again is not None and not self.loops and all(map(is_plain, arguments.values())):
            return again
        begun, before = self._scope_count, set(self.optimizers)
        scope = self.new_scope(
            getattr(function.node, "name", "lambda"),
            function.module,
            parent=function.scope,
            via=None if root else self.at(node),
            node=function.node,
        )
        self.stack.append(id(function.node))
        enabled = self.grad_enabled
        self.grad_enabled = enabled and not _has_no_graph(function.node)
        try:
            body = self.block(lambda: self._enter(function, scope, arguments, root=root))
        finally:
            self.stack.pop()
            self.grad_enabled = enabled
        if acts(body):
            self.out.append(Call(body))
        returned = scope.returned or [NONE]
        value = returned[0]
        for other in returned[1:]:
            value = join(value, other)
        trains = not self.loops and is_plain(value) and holds(body, Spends)
        if trains and self._is_closed(body, begun, before):
            # The next call, as for another fold of the data, does the same to other things.
            self.closed[id(function.node)] = value
        return value

    def _is_closed(self, body: Program, begun: int, before: set[str]) -> bool:
        """Does it deposit, spend and clear only what was made in it, from this number on?"""
        made = {n for n, o in self.optimizers.items() if n not in before and not o.outside}
        held = [o.keys for o in self.optimizers.values()]

        def is_own(key: str) -> bool:
            return _number(key) > begun or not any(
                keys is None or any(within(key, k) or within(k, key) for k in keys) for keys in held
            )

        def concerns_none_else(event: Effect) -> bool:
            if event.optimizer:
                return event.optimizer in made
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

    def quietly(self, ask: Callable[[], Known]) -> Known:
        """A value, without what happens on the way to it."""
        outer, self.out = self.out, []
        try:
            return ask()
        finally:
            self.out = outer

    def _enter(
        self, function: FunctionDef, scope: Scope, arguments: Arguments, *, root: bool
    ) -> None:
        with self.inside(scope):
            self.bind_arguments(function, scope, arguments, root=root)
            if isinstance(function.node, ast.Lambda):
                scope.returned.append(self.eval(function.node.body))
            else:
                self.run(function.node.body)

    def bind_arguments(
        self, function: FunctionDef, scope: Scope, arguments: Arguments, *, root: bool = False
    ) -> None:
        """Gives the function's parameters their values; of a root, nobody knows them."""
        node = function.node
        given = [*function.preset, *arguments.positional]
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        if function.bound is not None and names and not _is_static(node):
            given.insert(0, function.bound)
            scope.self_value = function.bound
        elif function.cls is not None and names and names[0] == "self" and not given:
            scope.self_value = self.lookup("self")
        scope.cls = function.cls
        defaults = dict(zip(names[::-1], node.args.defaults[::-1], strict=False))
        keyword_only = [a.arg for a in node.args.kwonlyargs]
        defaults |= {
            name: default
            for name, default in zip(keyword_only, node.args.kw_defaults, strict=True)
            if default is not None
        }
        for place, name in enumerate([*names, *keyword_only]):
            full = scope.id + name
            value: Known
            if place < len(given) and place < len(names):
                value = given[place]
            elif name in arguments.named:
                value = arguments.named[name]
            elif name in defaults and "**" not in arguments.named and not root:
                value = self.in_module(function.module, defaults[name])
                if not isinstance(defaults[name], ast.Constant):
                    value = Thing(full)
            else:
                value = Thing(full)
            if isinstance(value, Thing) and not value.key and not value.plain:
                value = replace(value, key=full)
            elif isinstance(value, Optimizer) and not value.name:  # made right in the call
                value = self._register(replace(value, name=name))
            self.store[full] = value
        if node.args.vararg:
            self.store[scope.id + node.args.vararg.arg] = Items(tuple(given[len(names) :]))
        if node.args.kwarg:
            self.store[scope.id + node.args.kwarg.arg] = Thing(scope.id + node.args.kwarg.arg)

    def instantiate(self, cls: ClassDef, arguments: Arguments, node: ast.AST) -> Known:
        """An object of a class of the project."""
        self._scope_count += 1
        thing = Thing(f"{cls.node.name}#{self._scope_count}", cls=cls)
        self.store[thing.key] = thing
        if self.loops or self.reached:  # what others got so far is none of its business
            self.emit(Renews(self.at(node), frozenset({thing.key})))
        init = self.method(cls, "__init__")
        if init is not None:
            # What a plain object keeps of what it is given is the same thing by another name.
            plain = not cls.node.bases and _lines(init.node) < SMALL
            self.call_function(replace(init, bound=thing), arguments, node, always=plain)
        return thing

    def run(self, body: list[ast.stmt]) -> None:
        """Walks through statements."""
        raise NotImplementedError

    def _unfollowed(self, function: FunctionDef, arguments: Arguments, node: ast.AST) -> Known:
        """The result of a function that does nothing to gradients."""
        if id(function.node) in self.stack:
            return UNKNOWN
        if _has_no_graph(function.node):
            return PLAIN
        bound = (function.bound,) if function.bound is not None else ()
        if isinstance(function.bound, Thing) and function.bound.key:
            self._renew_attributes(function, function.bound.key, node)
        self.listening = self.listening or function.module.says(HOOKS, function.node)
        values = (*bound, *arguments.values())
        made = self.computed(*values, sure=False)
        if not made.reach:
            return made
        surely = made.reach
        if cuts(function):
            surely = NO_KEYS
        elif self.gives_several(function):
            # Which of them is made of which argument, nobody knows.
            surely = frozenset.intersection(*filter(None, map(reach_of, values)))
        return replace(made, reach=surely, maybe=made.maybe | (made.reach - surely))

    def _renew_attributes(self, function: FunctionDef, owner: str, node: ast.AST) -> None:
        """A method that is not followed may give its object other models."""
        for name in set(ATTRIBUTES.findall(function.module.text(function.node))):
            held = self.store.get(f"{owner}.{name}", Thing(f"{owner}.{name}"))
            if isinstance(held, Thing) and held.key and not held.plain:
                self.emit(Renews(self.at(node), frozenset({held.key})))

    def gives_several(self, function: FunctionDef) -> bool:
        """Does it return more than one thing?"""
        known = self.known.several.get(id(function.node))
        if known is None:
            inside = ast.walk(function.node)
            returned = (inner.value for inner in inside if isinstance(inner, ast.Return))
            known = any(isinstance(value, ast.Tuple | ast.List | ast.Dict) for value in returned)
            self.known.several[id(function.node)] = known
        return known

    def is_interesting(self, function: FunctionDef) -> bool:
        """Does it do anything to gradients, by itself or by what it calls?"""
        return self._reaches(function, self.known.interesting, _touches)

    def keeps_cycle(self, function: FunctionDef) -> bool:
        """Does it both deposit and spend, by itself or by what it calls?"""
        return self.makes_deposits(function) and self.spends(function)

    def spends(self, function: FunctionDef) -> bool:
        """Does it make a step, by itself or by what it calls?"""
        return self._reaches(function, self.known.spending, lambda f: f.module.says(SPENDS, f.node))

    def makes_deposits(self, function: FunctionDef) -> bool:
        """Does it make a deposit, by itself or by what it calls?"""
        return self._reaches(
            function, self.known.depositing, lambda f: f.module.says(DEPOSITS, f.node)
        )

    def _reaches(
        self,
        function: FunctionDef,
        known: dict[Callee, bool],
        is_it: Callable[[FunctionDef], bool],
    ) -> bool:
        """Is it so of the function's text, or of that of a function that it calls?"""
        callee = callee_of(function)
        answer = known.get(callee)
        if answer is None:
            known[callee] = False  # for functions that call each other
            answer = is_it(function) or any(
                self._reaches(called, known, is_it) for called in self.called_by(function)
            )
            known[callee] = answer
        return answer

    def called_by(self, function: FunctionDef) -> Iterator[FunctionDef]:
        """The project's own functions that a function calls, as far as names tell."""
        called, members = function.module.calls(function.node)
        if function.cls is not None and function.module.says(SUPER_CALLS, function.node):
            start = function.bound.cls if isinstance(function.bound, Thing) else None
            for name in dict.fromkeys(SUPER_CALLS.findall(function.module.text(function.node))):
                above = self.method(start or function.cls, name, after=function.cls)
                if above is not None:
                    yield replace(above, bound=function.bound)
        own = function.bound if isinstance(function.bound, Thing) else None
        cls = function.cls if own is None else own.cls
        for name in called:
            method = None if cls is None else self.method(cls, name)
            found = method or self._called(name, function.module, None)
            if found is not None:
                # The object stays the same: what its class overrides, it calls there too.
                yield found if method is None or own is None else replace(method, bound=own)
        for owner, name in members:
            module = self.defined(function.module, owner)
            if isinstance(module, Imported):
                found = self._called(name, module.module, None)
                if found is not None:
                    yield found

    def called_in(
        self, module: Module, statements: list[ast.stmt], cls: ClassDef | None = None
    ) -> Iterator[FunctionDef]:
        """The project's own functions that some lines call, as far as names tell."""
        for names, members in map(module.calls, statements):
            for name in names:
                found = self._called(name, module, cls)
                if found is not None:
                    yield found
            for owner, name in members:
                inner = self.defined(module, owner)
                if isinstance(inner, Imported):
                    found = self._called(name, inner.module, None)
                    if found is not None:
                        yield found

    def _called(self, name: str, module: Module, cls: ClassDef | None) -> FunctionDef | None:
        if cls is not None:
            method = self.method(cls, name)
            if method is not None:
                return method
        found = self.defined(module, name)
        if isinstance(found, ClassDef):
            # Whoever makes an object may call any of its methods.
            return self._busiest_method(found)
        return found if isinstance(found, FunctionDef) else None

    def _busiest_method(self, cls: ClassDef) -> FunctionDef | None:
        """A method that makes deposits, else the one that makes the object."""
        for owner in self.lineage(cls):
            for statement in owner.node.body:
                function = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
                if function and owner.module.says(DOES, statement):
                    return self.method(cls, statement.name)  # type: ignore[attr-defined]
        return self.method(cls, "__init__")


def _number(key: str) -> int:
    """Of the call, or the object, that the key belongs to; 0 where it belongs to none."""
    found = _NUMBER.search(key)
    return int(found[1]) if found else 0


def callee_of(function: FunctionDef) -> Callee:
    """What decides what a function does: its text, and whose methods it calls."""
    own = function.bound.cls if isinstance(function.bound, Thing) else None
    cls = own or function.cls
    return id(function.node), 0 if cls is None else id(cls.node)


def cuts(function: FunctionDef) -> bool:
    """May its result have no graph, whatever it is given?"""
    node, module = function.node, function.module
    return module.says(CUTS, node) or module.says(NO_GRADIENTS, node) or _has_no_graph(node)


def _has_no_graph(node: ast.AST) -> bool:
    """`@torch.no_grad()`: is nothing that it computes differentiable?"""
    decorators = map(ast.unparse, getattr(node, "decorator_list", ()))
    return any("no_grad" in name or "inference_mode" in name for name in decorators)


def _is_static(node: ast.AST) -> bool:
    decorators = getattr(node, "decorator_list", [])
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in decorators)


def _touches(function: FunctionDef) -> bool:
    node, module = function.node, function.module
    small = _lines(node) < SMALL
    return module.says(TOUCHES, node) or (small and module.says(DETACHES, node))


def _lines(node: ast.stmt | ast.expr) -> int:
    return (node.end_lineno or node.lineno) - node.lineno


def goes_on_for_ever(function: ast.AST) -> bool:
    """Is it a generator that begins again when its data has ended: `while True` around a `for`?"""
    body = getattr(function, "body", ())
    last = body[-1] if isinstance(body, list) and body else None
    return (
        isinstance(last, ast.While)
        and isinstance(last.test, ast.Constant)
        and bool(last.test.value)
        and not any(isinstance(inner, ast.Break | ast.Return) for inner in ast.walk(last))
        and any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in ast.walk(last))
    )


def _is_generator(function: FunctionDef) -> bool:
    body = getattr(function.node, "body", None)
    if not isinstance(body, list) or "yield" not in function.module.text(function.node):
        return False
    todo: list[ast.AST] = list(body)
    while todo:
        inner = todo.pop()
        if isinstance(inner, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(inner, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(inner))
    return False
