"""Ignite, and others that call a function for each batch, epoch by epoch."""

from __future__ import annotations

from gradledger.static.domain.scopes import LoopState
from gradledger.static.domain.values import Count, FunctionDef, Known, Thing
from gradledger.static.ir.blocks import acts
from gradledger.static.ir.program import Loop
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.inline import call_function
from gradledger.static.lower.loop_rounds import write_rounds
from gradledger.static.lower.statements import end_epochs
from gradledger.static.models import facts
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def ignite_made(
    machine: Machine, dotted: str, arguments: Arguments, node: ast.Call
) -> Known | None:
    """`Engine(process_function)`: it calls that function for each batch."""
    function = arguments.get(0, "process_function")
    if facts.last(dotted) != "Engine" or not isinstance(function, FunctionDef):
        return None
    repeat(machine, function, node)
    return Thing(built=dotted)


def repeat(
    machine: Machine,
    function: FunctionDef,
    node: ast.AST,
    *,
    counter: str = "",
    rounds: int | None = None,
    root: bool = False,
) -> None:
    """A function that a framework calls for each batch, epoch by epoch."""
    machine.log.numbered += 1
    loop = LoopState(f"loop {getattr(node, 'lineno', 0)}#{machine.log.numbered}")
    given: dict[str, Known] = {counter: Count(loop.id)} if counter else {}

    def call() -> None:
        call_function(machine, function, Arguments((), given), node, root=root)

    with machine.within(loops=(*machine.context.loops, loop)):
        body = machine.block(call)
    if not acts(body):
        return

    def epoch() -> None:
        with machine.within(ended=[]):
            write_rounds(machine, body, loop, machine.at(node), rounds=rounds)
            end_epochs(machine)

    machine.out.append(Loop(machine.block(epoch)))
