"""The training loop of a file: its deposit, its spend, and what else it does to gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradledger.ledger.events import BY_HAND, Schedule
from gradledger.static.adopt.names import scaler_of, value_of
from gradledger.static.adopt.refusal import NotAdopted
from gradledger.static.adopt.sites import Site, Sites
from gradledger.static.check import Followed
from gradledger.static.domain.values import Optimizer
from gradledger.static.fix.calls import only_call, plain
from gradledger.static.fix.script import Loop, Scope, Script, Statement
from gradledger.static.ir.blocks import holds
from gradledger.static.ir.effects import (
    Clears,
    Clips,
    Deposits,
    Edits,
    HandsOver,
    Reads,
    Replaces,
    Spends,
)
from gradledger.static.lower.root import Root
from gradledger.static.source import syntax as ast

_SPOKEN_OF = {
    Reads: "reads gradients, which a Stepper has spent and cleared when backward() returns",
    Edits: "changes gradients by hand, and a Stepper keeps them out of reach inside a window",
    HandsOver: "gives gradients to code that isn't followed",
    Replaces: "replaces parameters of the model",
}


class Cycle:
    """What the loop does, by statement. NotAdopted where a Stepper can't take it over."""

    def __init__(self, trained: Sequence[Followed], script: Script, path: str) -> None:
        self.script = script
        self.root = _root(trained)
        programs = [f.root.program for f in trained if f.root.program is not None]
        self._sites = Sites(script, path, programs)
        self.deposits = self._sites.of(Deposits)
        self.scope: Scope = self.deposits[0].statement.scope
        self.spend = self._only_spend()
        self.optimizer = self._optimizer()
        self.loop: Loop = self._loop()
        """The one in which each round is a micro-batch."""
        self.clears = [site for site in self._own(Clears) if self._is_ours(site)]
        self.clips = self._own(Clips)
        self.scaler_calls = list(self._scaler_calls())
        """Statements that unscale gradients, or move the scale."""
        self.schedules = self._own(Schedule)
        self._refuse_the_rest()

    def _only_spend(self) -> Site:
        spends = self._sites.of(Spends)
        lines = " and ".join(str(site.line) for site in spends)
        names = {met.event.optimizer for s in spends for met in s.met}  # type: ignore[attr-defined]
        if not names - {"", BY_HAND}:
            raise NotAdopted(f"line {lines} changes parameters by hand, without an optimizer")
        if len(names) > 1:
            raise NotAdopted(
                f"it has {len(names)} optimizers, stepped on lines {lines}: use one Stepper for "
                'each ("Several nets" in docs/stepper.md)'
            )
        if len(spends) > 1:
            raise NotAdopted(f"the optimizer is stepped in several places, on lines {lines}")
        call = spends[0].call
        if not isinstance(spends[0].statement.node, ast.Expr):
            raise NotAdopted(f"the result of step() is used on line {lines}")
        given = len(call.args) + len(call.keywords)
        scaled = isinstance(call.func, ast.Attribute) and given == 1 and call.args
        if given and not (scaled and not _is_optimizer(self.root, call, self.scope)):
            raise NotAdopted(
                f"step() on line {lines} is given a closure or another argument: such an optimizer "
                "evaluates the loss itself, for which there is stepper.run()"
            )
        return spends[0]

    def _optimizer(self) -> Optimizer:
        name = self.spend.met[0].event.optimizer  # type: ignore[attr-defined]
        return self.root.optimizers[name]

    def _loop(self) -> Loop:
        loops = {id(site.statement.loop): site for site in self.deposits}
        if len(loops) > 1:
            lines = ", ".join(str(site.line) for site in self.deposits)
            raise NotAdopted(f"it has several training loops, with backward() on lines {lines}")
        loop = self.deposits[0].statement.loop
        if loop is None:
            raise NotAdopted(
                f"backward() on line {self.deposits[0].line} isn't itself in a loop: the function "
                "around it does one step, and its callers loop. Make one Stepper beside the "
                "optimizer, and call its backward() there"
            )
        if isinstance(loop, ast.AsyncFor):
            raise NotAdopted("its loop is asynchronous")
        return loop

    def _is_ours(self, site: Site) -> bool:
        """True for a clear of what the optimizer has, and not of another model."""
        own = self.optimizer.keys
        cleared = [met.event for met in site.met if isinstance(met.event, Clears)]
        return own is None or all(e.optimizer or not own.isdisjoint(e.keys) for e in cleared)

    def _own(self, kind: type) -> list[Site]:
        """Those in the same function as the loop."""
        return [site for site in self._sites.of(kind) if site.statement.scope is self.scope]

    def _scaler_calls(self) -> Iterator[Statement]:
        """Of scalers that are turned off, too, which do nothing."""
        for statement in self.script.within(self.scope):
            match only_call(statement):
                case ast.Call(func=ast.Attribute(value=of, attr="unscale_" | "update")):
                    if scaler_of(self.root, self.scope, of) is not None:
                        yield statement

    def _refuse_the_rest(self) -> None:
        if self.spend.statement.scope is not self.scope:
            raise NotAdopted(
                f"backward() on line {self.deposits[0].line} and step() on line {self.spend.line} "
                "are in different functions"
            )
        for kind, does in _SPOKEN_OF.items():
            for line in self._sites.lines(kind):
                raise NotAdopted(f"line {line} {does}")
        for node in ast.walk(self.script.tree):
            if isinstance(node, ast.Attribute) and node.attr == "grad" and _is_read(node):
                raise NotAdopted(f"line {node.lineno} {_SPOKEN_OF[Reads]}")

    def within(self, statement: Statement) -> bool:
        """True if the statement is in the loop."""
        return _is_within(statement, self.loop)


def _is_read(gradient: ast.Attribute) -> bool:
    """True for `weight.grad`, and not where that is set, nor for `torch.autograd.grad`."""
    owner = plain(gradient.value) or ""
    return isinstance(gradient.ctx, ast.Load) and owner.rpartition(".")[2] != "autograd"


def _is_within(statement: Statement, loop: ast.stmt) -> bool:
    above = statement.parent
    while above is not None and above.node is not loop:
        above = above.parent
    return above is not None


def _root(trained: Sequence[Followed]) -> Root:
    for followed in trained:
        if followed.root.program is not None and holds(followed.root.program, Spends):
            return followed.root
    raise NotAdopted("no step() was found that spends what backward() deposits")


def _is_optimizer(root: Root, call: ast.Call, scope: Scope) -> bool:
    """True for `optimizer.step(x)`, and not for `scaler.step(optimizer)`."""
    assert isinstance(call.func, ast.Attribute)
    return isinstance(value_of(root, call.func.value, scope), Optimizer)
