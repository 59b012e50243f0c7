"""How many micro-batches one update is made of, as the loop has it."""

from __future__ import annotations

from gradledger.static.adopt.cycle import Cycle
from gradledger.static.adopt.refusal import NotAdopted
from gradledger.static.fix.script import Statement
from gradledger.static.ir import condition_names
from gradledger.static.source import syntax as ast


class Window:
    """The windows of a loop. NotAdopted where their size isn't known."""

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle
        spend = cycle.spend.statement
        self.size: ast.expr | None = None
        """None: one micro-batch."""
        self.closed_by: Statement | None = None
        """The `if` that spends, where there is one."""
        self.spends_rest = False
        """The loop spends the last window of a pass, however short it is."""
        self.is_inner_loop = False
        """Each pass of the loop is one window, which is spent behind it."""
        if spend.loop is cycle.loop:
            self._in_the_loop(spend)
        else:
            self._behind_the_loop(spend)

    def _in_the_loop(self, spend: Statement) -> None:
        guards = [above for above in _around(spend, self._cycle.loop) if not _is_with(above)]
        if not guards:
            return
        guard = guards[0]
        if len(guards) > 1 or not isinstance(guard.node, ast.If):
            raise NotAdopted(f"step() on line {self._cycle.spend.line} is nested too deeply")
        if guard.node.orelse:
            raise NotAdopted(f"the `if` on line {guard.node.lineno} around step() has an `else`")
        self.closed_by = guard
        self.size = self._size(guard.node)

    def _size(self, guard: ast.If) -> ast.expr:
        """Of the windows that this closes, by what the checker knows of its condition."""
        asked = {name for met in self._cycle.spend.met for name, answer in met.answers if answer}
        ends = [name for name in asked if name and _is_end(name)]
        rest = [name for name in asked if name and condition_names.of_rounds(name)]
        others = asked - {*ends, *rest}
        divisions = [
            node.right
            for node in ast.walk(guard.test)
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
        ]
        if len(ends) != 1 or len(divisions) != 1 or len(rest) > 2 or others:
            raise NotAdopted(
                f"step() on line {self._cycle.spend.line} depends on line {guard.lineno}, and it "
                "isn't certain that this closes windows of a fixed size"
            )
        if not condition_names.is_own(ends[0].removesuffix(" ends")):
            raise NotAdopted(
                f"the counter on line {guard.lineno} doesn't begin at 0 with the loop, as the "
                "windows of a Stepper do: count with enumerate()"
            )
        self.spends_rest = len(rest) == 2
        return divisions[0]

    def _behind_the_loop(self, spend: Statement) -> None:
        loop = self._cycle.loop
        own = self._cycle.script.of(loop)
        if own.loop is not spend.loop or own.block is not spend.block or spend.index < own.index:
            raise NotAdopted(
                f"step() on line {self._cycle.spend.line} isn't in the loop of backward() on line "
                f"{self._cycle.deposits[0].line}, nor right behind it"
            )
        match loop:
            case ast.For(iter=ast.Call(func=ast.Name(id="range" | "trange"), args=[size])):
                self.size = size
                self.is_inner_loop = True
            case _:
                raise NotAdopted(
                    f"the loop on line {loop.lineno} is one window, and how many micro-batches it "
                    "has isn't known before it ends"
                )


def _around(statement: Statement, loop: ast.stmt) -> list[Statement]:
    """The statements around it, up to the loop, the innermost first."""
    found = []
    above = statement.parent
    while above is not None and above.node is not loop:
        found.append(above)
        above = above.parent
    return found


def _is_with(statement: Statement) -> bool:
    return isinstance(statement.node, ast.With)


def _is_end(condition: str) -> bool:
    return condition.endswith(" ends") and condition_names.window_of(condition) is not None
