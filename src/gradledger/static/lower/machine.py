"""What a walk through the code knows at one point: scopes, names, and the block being written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gradledger.ledger.events import Event
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.domain.join import joined
from gradledger.static.domain.scopes import LETTERS_IN_A_STEP, Effort, Knowledge, LoopState, Scope
from gradledger.static.domain.values import (
    UNKNOWN,
    FunctionDef,
    Known,
    Optimizer,
    Scaler,
    Thing,
    kept_in,
)
from gradledger.static.ir.blocks import sequence
from gradledger.static.ir.program import Do, Forget, Leave, Program, Sequence
from gradledger.static.lower import (
    assign,
    assign_targets,
    calls,
    conditions,
    frameworks,
    inline,
    loops,
)
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.dispatch import EXPRESSIONS, STATEMENTS
from gradledger.static.lower.statements import end_epochs
from gradledger.static.project.module import Module
from gradledger.static.project.name_uses import Uses
from gradledger.static.project.project import Project
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAMES_IN_A_STEP = 256
"""To compare so many names takes about as long as to walk through a statement."""

Store = dict[str, Known]


class Machine(Effort):
    """Follows code."""

    def __init__(self, project: Project, module: Module, known: Knowledge) -> None:
        super().__init__()
        self.project = project
        self.known = known
        self.backwards = 0
        """How many backward passes the walk has met."""
        self.no_sync_maybe = False
        self.store: Store = {}
        self.scopes: dict[str, Scope] = {}
        self.scope = self._open(Scope("", module))
        self.out: list[Program] = []
        self.loops: list[LoopState] = []
        self.ended: list[tuple[str, Event]] = []
        """Loops over data in the block at hand, and that their data has ended."""
        self.frozen: frozenset[str] = frozenset()
        self.half_frozen: frozenset[str] = frozenset()
        """What is frozen in some rounds of a loop, and free in others."""
        self.frozen_if: frozenset[tuple[str, str, bool]] = frozenset()
        """What is frozen where a condition has this answer, and was not before."""
        self.frozen_apart: tuple[frozenset[str], frozenset[str]] = frozenset(), frozenset()
        """What one of the two ways that have just met has frozen, and what the other has."""
        self.evaluating: frozenset[str] = frozenset()
        """Models that were told to evaluate, and not to train since."""
        self.grad_enabled = True
        self.grad_in_doubt = False
        """Something around may have switched the recording of graphs off."""
        self.averaged: dict[Place, bool] = {}
        """Where models are called outside of `no_sync`, and whether they surely have ranks."""
        self.autocast = False
        """Is this inside of `with autocast`?"""
        self.local: bool | None = None
        """Inside `no_sync`, or of two ways the one without it."""
        self.accumulating = ""
        """Inside `accelerator.accumulate`: the condition under which its optimizers act."""
        self.optimizers: dict[str, Optimizer] = {}
        self.scalers: dict[str, Scaler] = {}
        self.stack: list[int] = []
        """The functions that are being inlined, by identity."""
        self.inlined: set[int] = set()
        self.condition_names: dict[str, set[str]] = {}
        """For each variable, the conditions that it decides."""
        self.questions: set[str] = set()
        """Conditions that some `if` so far has asked for."""
        self.made: set[str] = set()
        """Modules of torch's with parameters that the code makes itself."""
        self.unlisted: dict[str, frozenset[str]] = {}
        """By the key of a module, the attributes that are plain lists of layers."""
        self.reached: frozenset[str] = frozenset()
        """What some backward so far has reached."""
        self.given_away: frozenset[str] = frozenset()
        """Nets, and nets behind losses, that code out of sight has had in its hands."""
        self.in_doubt: frozenset[str] = frozenset()
        """Nets whose outputs went through code that is not followed, and may have no graph then."""
        self.uncounted: set[Place] = set()
        """Where schedules move of which nobody knows whether they count updates, or batches."""
        self.deferred: set[Place] = set()
        """Where schedules move at certain times only, of one optimizer among several, or perhaps
        not at all."""
        self.fresh: frozenset[str] = frozenset()
        """In a loop over something else than data: names that were given for the data at hand."""
        self.varying: set[str] = set()
        """Sizes of windows that are others in each epoch: which of them fit, who knows?"""
        self.flags: dict[str, int] = {}
        """Names that are set to True or False in loops, and in how many."""
        self.remainders: set[str] = set()
        """Names of what is left over of an epoch, behind its last full window."""
        self.rest_at = ("", 0)
        """The scope, and the loops around, in which a loop with windows has just ended."""
        self.each_once: set[str] = set()
        """Names that are another one of a collection of optimizers, or its key, in each round."""
        self.picked: dict[str, str] = {}
        """Of collections of optimizers, which are as one: the key by which one was first taken."""
        self.doubted: set[str] = set()
        """Rules that something in the code may speak against, in ways that are not followed."""
        self.listening = False
        """Hooks on tensors wait for what the next backward brings them."""
        self.hooked = False
        """Hooks may spend or clear each gradient as it arrives."""
        self.recorded: dict[Place, tuple[Thing, Scope, ast.For | None]] = {}
        """Where losses whose graphs are surely recorded are put into sums over data, and in which
        call and loop that is."""
        self.holders: dict[Place, set[tuple[Scope, str]]] = {}
        """For each such place, the names by which the sum was known, and in which calls."""
        self.unknown: list[tuple[Place, str]] = []
        self._scope_count = 0
        self.ever_frozen: frozenset[str] = frozenset()
        """What `requires_grad` was taken from, somewhere."""
        self.closed: dict[int, Known] = {}
        """What functions gave that train nothing but what they make themselves."""
        self.rounds: int | None = None
        """How often the loop goes round whose iterable was looked at last."""
        self.unpacked: tuple[ast.AST | None, int] = None, 0
        """The call whose result is unpacked at once, and into how many names."""
        self.guarded = False
        """What follows has been asked whether there is a gradient."""
        self.in_parameters = 0
        """How many loops over parameters this is inside of."""
        self.partly = False
        """Inside of one, and of a condition on the single parameter."""

    # All of it

    def knows(self) -> dict[str, Any]:
        """What is known now, for another walk to go on from."""
        return {
            name: _copied(value) for name, value in vars(self).items() if name not in _A_WALKS_OWN
        }

    def go_on_from(self, known: dict[str, Any]) -> None:
        """Knows what another walk did, as if this one had walked there."""
        root = self.scopes[""]
        vars(self).update({name: _copied(value) for name, value in known.items()})
        self.scopes[""] = root

    # Where

    def at(self, node: ast.AST) -> Place:
        """The place of a piece of code, with the calls that led to it."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        return Place(self.scope.module.path, line, column, self.scope.via)

    def uses(self) -> Uses:
        """What this file does with its names."""
        module = self.scope.module
        if module.uses is None:
            module.uses = Uses(module.source)
        return module.uses

    # Scopes

    def _open(self, scope: Scope) -> Scope:
        self.scopes[scope.id] = scope
        return scope

    def new_scope(
        self, name: str, module: Module, *, parent: str | None, via: Place | None, node: ast.AST
    ) -> Scope:
        """A scope for a call."""
        self.count_work(1 + module.size(node) // LETTERS_IN_A_STEP)
        self._scope_count += 1
        id = f"{name}#{self._scope_count}:"
        loops = len(self.loops)
        return self._open(Scope(id, module, parent=parent, via=via, node=node, loops=loops))

    @contextmanager
    def inside(self, scope: Scope) -> Iterator[None]:
        """Walks in another scope."""
        outer, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = outer

    # Names

    def load(self, full: str) -> Known | None:
        """What a name in the store stands for; loops take note of who looks."""
        for loop in self.loops:
            if full not in loop.assigned:
                loop.read.add(full)
        return self.store.get(full)

    # Writing

    def emit(self, event: Event) -> None:
        """One more thing happens."""
        self.count_work(1)
        self.out.append(Do(event))

    def note_holder(self, value: Known, name: str, scope: Scope) -> None:
        """By this name, too, somebody has what was kept."""
        for place in kept_in(value) & self.recorded.keys():
            self.holders.setdefault(place, set()).add((scope, name))

    def forget(self, variable: str) -> None:
        """Conditions on this variable have to be asked again."""
        self.out.append(Forget(variable))
        if self.frozen_if:
            asked = self.condition_names.get(variable, set()) | {variable}
            self.frozen_if = frozenset(f for f in self.frozen_if if f[1] not in asked)

    def block(self, write: Callable[[], None]) -> Program:
        """What `write` writes, as a block of its own."""
        outer, self.out = self.out, []
        enabled = self.grad_enabled
        try:
            write()
            return sequence(self.out)
        finally:
            self.out, self.grad_enabled = outer, enabled

    def note_unknown(self, node: ast.AST, why: str) -> None:
        """Says that something here could not be followed."""
        self.unknown.append((self.at(node), why))

    def count_comparison(self) -> None:
        """Counts that all names are compared, or copied."""
        self.count_work(len(self.store) // NAMES_IN_A_STEP)

    # Joining

    def both(self, one: Callable[[], None], other: Callable[[], None]) -> tuple[Program, Program]:
        """Two ways to go on from here, as blocks; afterwards, names are what they are on both."""
        self.count_comparison()
        before, frozen, parted = dict(self.store), self.frozen, self.frozen_if
        evaluating = self.evaluating
        then = self.block(one)
        after_then, frozen_then, parted_then = self.store, self.frozen, self.frozen_if
        self.store, self.frozen, self.frozen_if = before, frozen, parted
        evaluating_then, self.evaluating = self.evaluating, evaluating
        orelse = self.block(other)
        self.frozen_apart = frozenset(), frozenset()
        if _leaves(then):
            return then, orelse
        if _leaves(orelse):
            self.store, self.frozen, self.frozen_if = after_then, frozen_then, parted_then
            self.evaluating = evaluating_then
            return then, orelse
        self.store = joined(after_then, self.store)
        self._note_joined_optimizers()
        self.frozen_apart = frozen_then - self.frozen, self.frozen - frozen_then
        self.frozen = self.frozen & frozen_then
        self.frozen_if = self.frozen_if & parted_then
        self.evaluating &= evaluating_then
        return then, orelse

    def _note_joined_optimizers(self) -> None:
        if not self.optimizers:
            return
        for value in self.store.values():
            if isinstance(value, Optimizer) and value.name:
                known = self.optimizers.get(value.name)
                if known is not None and known.keys != value.keys:
                    self.optimizers[value.name] = replace(known, keys=value.keys)

    def eval(self, node: ast.expr | None) -> Known:
        """What the expression stands for."""
        if node is None:
            return UNKNOWN
        handler = EXPRESSIONS.get(type(node))
        return UNKNOWN if handler is None else handler(self, node)

    def run(self, body: list[ast.stmt]) -> None:
        """Walks through the statements in order."""
        before, self.ended = self.ended, []
        for statement in body:
            self.count_statement()
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
        self.ended = before

    def call_value(self, callee: Known, node: ast.Call) -> Known:
        """What a call of this value gives and does."""
        return calls.call_value(self, callee, node)

    def assign(self, target: ast.expr, value: Known) -> None:
        """Gives names to a value."""
        assign_targets.assign(self, target, value)

    def rebind(self, target: ast.expr, value: Known) -> None:
        """Changes what a name stands for, without a new value being assigned."""
        assign_targets.rebind(self, target, value)

    def flag(self, test: ast.expr) -> Known | None:
        """A condition as a value: a truth that is known, or one about windows and rounds."""
        return conditions.flag(self, test)

    def answer(self, test: ast.expr) -> bool | None:
        """Whether a condition is surely true or false; None where that is not known."""
        return conditions.answer(self, test)

    def items_of(self, node: ast.expr) -> Known:
        """What a loop over this goes through."""
        return loops.items_of(self, node)

    def property_of(self, method: FunctionDef, thing: Thing, name: str) -> Known:
        """The value of a property."""
        return inline.property_of(self, method, thing, name)

    def framework_made(self, dotted: str, arguments: Arguments, node: ast.Call) -> Known | None:
        """What a function of a framework gives."""
        return frameworks.framework_made(self, dotted, arguments, node)

    def framework_call(self, thing: Thing, name: str, node: ast.Call) -> Known | None:
        """Calls a method of an object that a framework gives."""
        return frameworks.framework_call(self, thing, name, node)

    def engine_backward(self, engine: Thing, loss: Thing, node: ast.Call) -> Known:
        """`engine.backward(loss)`."""
        return frameworks.engine_backward(self, engine, loss, node)

    def apex(self, call: ast.Call, item: ast.withitem, after: list[Callable[[], None]]) -> None:
        """`with amp.scale_loss(loss, optimizer) as scaled`."""
        frameworks.apex_scaled_loss(self, call, item, after)

    def accumulate(self, call: ast.Call) -> None:
        """`with accelerator.accumulate(model)`."""
        frameworks.accumulate(self, call)

    def returned(self, value: Known, node: ast.Return) -> None:
        """What a framework does with what its hook returns."""
        frameworks.returned(self, value, node)

    def set_by_name(self, node: ast.Call, value: ast.expr) -> Known:
        """`setattr(parameter, "grad", value)`."""
        return assign.set_by_name(self, node, value)

    def follow(
        self, function: FunctionDef, arguments: Arguments, node: ast.AST, *, root: bool
    ) -> Known:
        """Walks through the function, as a block of its own."""
        return inline.follow(self, function, arguments, node, root=root)


_A_WALKS_OWN = frozenset(
    {"known", "most_statements", "most_work", "out", "project", "scope", "work"}
)


def _copied(value: object) -> object:
    match value:
        case dict():
            return {k: set(v) if isinstance(v, set) else v for k, v in value.items()}
        case list() | set():
            return value.copy()
        case _:
            return value


def _leaves(program: Program) -> bool:
    if isinstance(program, Sequence):
        return bool(program.parts) and isinstance(program.parts[-1], Leave)
    return isinstance(program, Leave)
