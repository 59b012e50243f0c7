"""What functions do and call, told by their text: which of them are worth following."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from gradledger.ledger.values import replace
from gradledger.static.domain.scopes import Callee
from gradledger.static.domain.values import ClassDef, FunctionDef, Imported, Known, Thing
from gradledger.static.lower.attributes import lineage, method_of
from gradledger.static.lower.function_text import (
    callee_of,
    is_in_sight,
    sums_over_data,
    touches,
    yields,
)
from gradledger.static.lower.names import defined
from gradledger.static.lower.spelling import called_name
from gradledger.static.models.facts import REPLICATING
from gradledger.static.project.module import Function, Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import (
    DEPOSITS,
    DOES,
    SPENDS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


_REPLICATES = Pattern("|".join(sorted(REPLICATING)), words=tuple(sorted(REPLICATING)))

CLOSURES = Pattern(
    r"\.step\([ \t]*(?:closure[ \t]*=[ \t]*)?(?:self\.)?([A-Za-z_]\w*)[ \t]*\)", words=(".step(",)
)
"""What steps are given, to call it themselves: `optimizer.step(self.closure)`."""

SUPER_CALLS = Pattern(r"super\([^)]*\)\.(\w+)\(")


def is_interesting(machine: Machine, function: FunctionDef) -> bool:
    """Does it do anything to gradients, by itself or by what it calls?"""
    return reaches(machine, function, machine.known.interesting, touches)


def keeps_cycle(machine: Machine, function: FunctionDef) -> bool:
    """Does it both deposit and spend, by itself or by what it calls?"""
    return makes_deposits(machine, function) and spends(machine, function)


def spends(machine: Machine, function: FunctionDef) -> bool:
    """Does it make a step, by itself or by what it calls?"""
    return reaches(
        machine, function, machine.known.spending, lambda f: f.module.says(SPENDS, f.node)
    )


def makes_deposits(machine: Machine, function: FunctionDef) -> bool:
    """Does it make a deposit, by itself or by what it calls?"""
    return reaches(
        machine, function, machine.known.depositing, lambda f: f.module.says(DEPOSITS, f.node)
    )


def may_deposit(machine: Machine, function: FunctionDef) -> bool:
    """Is there a backward in the files of what it calls, or an optimizer that others may get?

    Who says `accumulate_grad_batches` makes deposits by a framework, out of sight.
    """
    return reaches(machine, function, machine.known.in_sight, is_in_sight)


def gives_several(machine: Machine, function: FunctionDef) -> bool:
    """Does it return more than one thing?"""
    known = machine.known.several.get(id(function.node))
    if known is None:
        inside = ast.walk(function.node)
        returned = (inner.value for inner in inside if isinstance(inner, ast.Return))
        known = any(isinstance(value, ast.Tuple | ast.List | ast.Dict) for value in returned)
        machine.known.several[id(function.node)] = known
    return known


def wraps_for_ranks(machine: Machine, function: FunctionDef) -> bool:
    """Is what it gives always a net that averages over ranks?"""
    known = machine.known.wrapping.get(id(function.node))
    if known is None:
        says = function.module.says(_REPLICATES, function.node)
        inside = ast.walk(function.node) if says else ()
        returned = [n.value for n in inside if isinstance(n, ast.Return)]
        known = bool(returned) and all(
            isinstance(value, ast.Call) and called_name(value) in REPLICATING for value in returned
        )
        machine.known.wrapping[id(function.node)] = known
    return known


def sums_up(machine: Machine, function: FunctionDef) -> bool:
    """Does it add up losses, as an evaluation does that leaves the recording of graphs on?"""
    known = machine.known.summing.get(id(function.node))
    if known is None:
        known = machine.known.summing[id(function.node)] = sums_over_data(function)
    return known


def is_generator(machine: Machine, function: FunctionDef) -> bool:
    """Does it give one thing after the other?"""
    known = machine.known.generators.get(id(function.node))
    if known is None:
        known = machine.known.generators[id(function.node)] = yields(function)
    return known


def asked_for_parameters(machine: Machine, function: FunctionDef) -> frozenset[str]:
    """Of what it is given, that which it asks for parameters, or hands on to one that does."""
    known = machine.known.asked.get(id(function.node))
    if known is None:
        from gradledger.static.lower.module_parameters import asked_for_parameters

        known = machine.known.asked[id(function.node)] = asked_for_parameters(
            function, partial(_meant_by, machine)
        )
    return known


def _meant_by(machine: Machine, call: ast.Call, function: FunctionDef) -> FunctionDef | None:
    """The function of the project that a call by its name means."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    found = defined(machine, function.module, name)
    return found if isinstance(found, FunctionDef) else None


def reaches(
    machine: Machine,
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
            reaches(machine, called, known, is_it) for called in _known_called_by(machine, function)
        )
        known[callee] = answer
    return answer


def _known_called_by(machine: Machine, function: FunctionDef) -> Iterator[FunctionDef]:
    """Those that `called_by` gives, which every question goes through again."""
    callee = callee_of(function)
    if callee in machine.known.called:
        yield from machine.known.called[callee]
        return
    found = []
    for called in called_by(machine, function):
        found.append(called)
        yield called
    # Only here: who stops at the first that answers has not asked for the files of the others.
    machine.known.called[callee] = found


def called_by(machine: Machine, function: FunctionDef) -> Iterator[FunctionDef]:
    """The project's own functions that a function calls, as far as names tell."""
    called, members = function.module.calls(function.node)
    if function.cls is not None and function.module.says(SUPER_CALLS, function.node):
        start = function.bound.cls if isinstance(function.bound, Thing) else None
        for name in dict.fromkeys(SUPER_CALLS.findall(function.module.text(function.node))):
            above = method_of(machine, start or function.cls, name, after=function.cls)
            if above is not None:
                yield replace(above, bound=function.bound)
    own = function.bound if isinstance(function.bound, Thing) else None
    cls = function.cls if own is None else own.cls
    if function.module.says(CLOSURES, function.node):
        called = (*called, *CLOSURES.findall(function.module.text(function.node)))
    for name in called:
        method = None if cls is None else method_of(machine, cls, name)
        found = method or _called(machine, name, function.module)
        if found is not None:
            # The object stays the same: what its class overrides, it calls there too.
            yield found if method is None or own is None else replace(method, bound=own)
    yield from _called_on(machine, members, function.module)


def called_in(
    machine: Machine, module: Module, statements: list[ast.stmt], classes: Iterable[ClassDef] = ()
) -> Iterator[FunctionDef]:
    """The project's own functions that some lines call, as far as names tell.

    Methods too, if there may be objects of these classes.
    """
    for names, members in map(module.calls, statements):
        for name in names:
            found = _called(machine, name, module)
            if found is not None:
                yield found
            methods = (method_of(machine, cls, name) for cls in classes)
            yield from filter(None, methods)
        yield from _called_on(machine, members, module)


def classes_made(machine: Machine, module: Module) -> Iterator[ClassDef]:
    """The project's own classes of which the file makes objects."""
    makers = (_class_of(machine, maker, module) for maker in module.made.values())
    yield from filter(None, makers)


def _called_on(
    machine: Machine, members: Iterable[tuple[str, str]], module: Module
) -> Iterator[FunctionDef]:
    """Functions of other modules, and methods of objects that the file makes."""
    for owner, name in members:
        found: FunctionDef | None = None
        if owner in module.made:
            cls = _class_of(machine, module.made[owner], module)
            found = method_of(machine, cls, name) if cls is not None else None
        elif isinstance(imported := defined(machine, module, owner), Imported):
            found = _called(machine, name, imported.module)
        if found is not None:
            yield found


def _class_of(machine: Machine, maker: tuple[str, str], module: Module) -> ClassDef | None:
    """The class that an object is made of, as `Trainer(…)` or as `module.Trainer(…)`."""
    inside, name = maker
    if inside:
        imported = defined(machine, module, inside)
        if not isinstance(imported, Imported):
            return None
        module = imported.module
    found = defined(machine, module, name)
    return found if isinstance(found, ClassDef) else None


def acts_on_what_it_has(machine: Machine, function: FunctionDef, given: Iterable[Known]) -> bool:
    """Does it call a method that does something to gradients, of an object that it has?

    By its words it does nothing: what is done is for the object to say.
    """
    objects = [value for value in given if isinstance(value, Thing) and value.cls is not None]
    own = function.bound.key if isinstance(function.bound, Thing) else ""
    names, members = function.module.calls(function.node) if objects or own else ((), ())
    for owner, _ in members if own else ():
        held = machine.flow.store.get(f"{own}.{owner}")
        if isinstance(held, Thing) and held.cls is not None:
            objects.append(held)
    return any(_does_something(machine, thing, name) for thing in objects for name in names)


def _does_something(machine: Machine, thing: Thing, name: str) -> bool:
    method = None if thing.cls is None else method_of(machine, thing.cls, name)
    if method is None:
        return False
    return reaches(
        machine,
        replace(method, bound=thing),
        machine.known.doing,
        lambda f: f.module.says(DOES, f.node),
    )


def _called(machine: Machine, name: str, module: Module) -> FunctionDef | None:
    found = defined(machine, module, name)
    if isinstance(found, ClassDef):
        # Whoever makes an object may call any of its methods.
        return _busiest_method(machine, found)
    return found if isinstance(found, FunctionDef) else None


def _busiest_method(machine: Machine, cls: ClassDef) -> FunctionDef | None:
    """A method that makes deposits, else the one that makes the object."""
    for owner in lineage(machine, cls):
        for statement in owner.node.body:
            function = isinstance(statement, Function)
            if function and owner.module.says(DOES, statement):
                return method_of(machine, cls, statement.name)  # type: ignore[attr-defined]
    return method_of(machine, cls, "__init__")
