"""The machine that follows code: what it knows at one point, and where to go on from there.

Three kinds of state, and each piece of knowledge is of one kind:

- `flow` holds at this point of the code, and is forked and joined with the paths;
- `context` is what is around: it is as before once the block, call, loop or `with` has ended;
- `log` is what was come by so far, on whatever path.

Handlers are plain functions `(machine, node)`, in tables by the type of the node (`dispatch`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gradledger.ledger.events import Event
from gradledger.ledger.places import Place
from gradledger.ledger.tuples import NamedTuple
from gradledger.ledger.values import replace
from gradledger.static.domain.context import Context
from gradledger.static.domain.flow import Flow, Store, join
from gradledger.static.domain.log import Log
from gradledger.static.domain.scopes import Effort, Knowledge, Scope
from gradledger.static.domain.values import UNKNOWN, FunctionDef, Known, Optimizer, Thing
from gradledger.static.ir.blocks import sequence
from gradledger.static.ir.keys import Keys
from gradledger.static.ir.program import Do, Leave, Program, Sequence
from gradledger.static.lower import assign_targets, calls, conditions, inline, loop_items
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.condition_keys import Condition
from gradledger.static.lower.dispatch import EXPRESSIONS, LIBRARIES, STATEMENTS
from gradledger.static.lower.statements import end_epochs
from gradledger.static.project.module import Module
from gradledger.static.project.project import Project
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Ways(NamedTuple):
    """Two ways that have met again: their blocks, and what only one of them has frozen."""

    then: Program
    orelse: Program
    frozen: tuple[Keys, Keys]


class Machine:
    """Follows one root: evaluates expressions, runs statements, and writes down what they do."""

    def __init__(self, project: Project, module: Module, known: Knowledge) -> None:
        self.project = project
        self.known = known
        """What all walks through the file have found out."""
        self.libraries = LIBRARIES
        self.effort = Effort()
        self.flow = Flow({})
        self._own = self.flow.store
        """The store that nobody else has: it may be written to."""
        root = Scope("", module)
        self.context = Context(root)
        self.log = Log()
        self.log.scopes[""] = root
        self.out: list[Program] = []
        """The block being written."""

    # Going on

    def eval(self, node: ast.expr | None) -> Known:
        """What the expression stands for."""
        if node is None:
            return UNKNOWN
        handler = EXPRESSIONS.get(type(node))
        return UNKNOWN if handler is None else handler(self, node)

    def run(self, body: list[ast.stmt]) -> None:
        """Walks through the statements in order."""
        outer = self.context.ended
        self.context = replace(self.context, ended=[])
        for statement in body:
            self.effort.count_statement()
            handler = STATEMENTS.get(type(statement))
            if handler is not None:
                handler(self, statement)
            if self.out and isinstance(self.out[-1], Leave):
                last = self.out.pop()
                end_epochs(self)
                self.out.append(last)
                break
        else:
            end_epochs(self)
        self.context = replace(self.context, ended=outer)

    def call(self, callee: Known, node: ast.Call) -> Known:
        """What a call of this value gives; what it does is written down on the way."""
        return calls.call_value(self, callee, node)

    def follow(self, function: FunctionDef, arguments: Arguments, node: ast.AST) -> Known:
        """What a function of the project gives, followed in any case."""
        return inline.follow(self, function, arguments, node, root=False)

    def property_of(self, method: FunctionDef, thing: Thing, name: str) -> Known:
        """The value of a property."""
        return inline.property_of(self, method, thing, name)

    def assign(self, target: ast.expr, value: Known) -> None:
        """Gives names to a value."""
        assign_targets.assign(self, target, value)

    def rebind(self, target: ast.expr, value: Known) -> None:
        """Changes what a name stands for, without a new value being assigned."""
        assign_targets.rebind(self, target, value)

    def condition(self, test: ast.expr) -> Condition:
        """The condition that a test asks for: a truth where that is known."""
        return conditions.condition(self, test)

    def items_of(self, node: ast.expr) -> loop_items.Iterated:
        """What a loop over this goes through, and how often it goes round."""
        return loop_items.items_of(self, node)

    # Writing

    def at(self, node: ast.AST) -> Place:
        """The place of a piece of code, with the calls that led to it."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        scope = self.context.scope
        return Place(scope.module.path, line, column, scope.via)

    def emit(self, event: Event) -> None:
        """One more thing happens."""
        self.effort.count_work(1)
        self.out.append(Do(event))

    def set(self, full: str, value: Known) -> None:
        """A name stands for this from here on."""
        if self.flow.store is not self._own:
            self._own = dict(self.flow.store)
            self.flow = replace(self.flow, store=self._own)
        self._own[full] = value

    def unset(self, full: str) -> Known | None:
        """A name stands for nothing any more; what it stood for."""
        self._own = dict(self.flow.store)
        self.flow = replace(self.flow, store=self._own)
        return self._own.pop(full, None)

    @contextmanager
    def within(self, **changes: Any) -> Iterator[None]:
        """Walks where something else is around; afterwards, all of that is as before."""
        outer, self.context = self.context, replace(self.context, **changes)
        try:
            yield
        finally:
            self.context = outer

    def block(self, write: Callable[[], None]) -> Program:
        """What `write` writes, as a block of its own."""
        outer, self.out, context = self.out, [], self.context
        try:
            write()
            return sequence(self.out)
        finally:
            self.out, self.context = outer, context

    # Branching

    def fork(self) -> Flow:
        """What holds here, to go on from later: it does not change any more."""
        self._own = {}
        return self.flow

    def both(self, one: Callable[[], None], other: Callable[[], None]) -> Ways:
        """Two ways to go on from here, as blocks; afterwards, what holds on both."""
        self.effort.count_names(len(self.flow.store))
        before = self.fork()
        then = self.block(one)
        after, self.flow, self._own = self.flow, before, {}
        orelse = self.block(other)
        flow = self.flow
        if _leaves(then):
            return Ways(then, orelse, (frozenset(), frozenset()))
        if _leaves(orelse):
            self.flow, self._own = after, {}
            return Ways(then, orelse, (frozenset(), frozenset()))
        self.flow = join(after, flow)
        self._own = {} if self.flow.store is after.store else self.flow.store
        _note_joined_optimizers(self.flow.store, self.log.optimizers)
        return Ways(then, orelse, (after.frozen - flow.frozen, flow.frozen - after.frozen))


def _note_joined_optimizers(store: Store, optimizers: dict[str, Optimizer]) -> None:
    """Of an optimizer that two ways have made of other parameters, all of them are noted."""
    for value in store.values() if optimizers else ():
        if type(value) is Optimizer and value.name:  # nearly none is: `isinstance` takes longer
            known = optimizers.get(value.name)
            if known is not None and known.keys != value.keys:
                optimizers[value.name] = replace(known, keys=value.keys)


def _leaves(program: Program) -> bool:
    if isinstance(program, Sequence):
        return bool(program.parts) and isinstance(program.parts[-1], Leave)
    return isinstance(program, Leave)
