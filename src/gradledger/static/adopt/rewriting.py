"""The edits that put a Stepper into a loop. All other text keeps every character."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradledger.static.adopt.cycle import Cycle
from gradledger.static.adopt.loss import Loss
from gradledger.static.adopt.options import Options
from gradledger.static.adopt.refusal import NotAdopted
from gradledger.static.adopt.window import Window
from gradledger.static.fix.calls import plain
from gradledger.static.fix.edits import Edit, Edits
from gradledger.static.fix.script import Statement
from gradledger.static.source import syntax as ast

IMPORT = "from gradledger import Stepper"


class Rewriting:
    """Collects the edits of one loop."""

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle
        self._script = cycle.script
        self._edits: list[Edit] = []

    def edits(
        self,
        window: Window,
        losses: list[Loss],
        options: Options,
        taken: list[Statement],
        divided_again: list[Loss],
    ) -> Edits:
        """All of them. NotAdopted where a statement shares its line with another one."""
        self._insert_import()
        self._make(options)
        if isinstance(self._cycle.loop, ast.For) and not window.is_inner_loop:
            self._iterate(self._cycle.loop)
        for loss in losses:
            self._deposit(loss, more=loss is not losses[-1], again=loss in divided_again)
        for statement in options.norms:
            assert isinstance(statement.node, ast.Assign)
            self._replace(statement.node.value, "stepper.grad_norm")
        self._remove(taken)
        return tuple(self._edits)

    def _insert_import(self) -> None:
        body = self._script.tree.body
        imports = [s for s in body if isinstance(s, ast.Import | ast.ImportFrom)]
        own = self._script
        future = [s for s in imports if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
        last = _last_together(body, imports)
        if last is None or (future and last is future[-1] and len(imports) > len(future)):
            raise NotAdopted("it has no imports at its top behind which one more could stand")
        if own.indent(last) is None:
            raise NotAdopted(f"line {last.lineno} has more than an import on it")
        end = own.line_start(own.line_of(own.end(last)) + 1)
        line_end = own.line_end(last.lineno)
        self._edits.append(Edit(end, end, IMPORT + line_end))

    def _make(self, options: Options) -> None:
        """The Stepper, right in front of the loop."""
        loop = options.before
        start = self._script.line_start(loop.node.lineno)
        line_end = self._script.line_end(loop.node.lineno)
        self._edits.append(Edit(start, start, options.code(self._indent(loop), line_end)))

    def _above_comments(self, start: int, indent: str) -> int:
        """Where the comment begins that stands right above a line; the line, where none does."""
        text = self._script.text
        while True:
            line = self._script.line_of(start)
            above = self._script.line_start(line - 1) if line > 1 else start
            said = text[above:start]
            if above == start or not said.startswith(f"{indent}#"):
                return start
            start = above

    def _iterate(self, loop: ast.For) -> None:
        data = loop.iter
        match data:
            case ast.Call(func=ast.Name("enumerate"), args=[counted, *_]) if not isinstance(
                counted, ast.GeneratorExp | ast.Starred
            ):
                data = counted
            case ast.Tuple():
                raise NotAdopted(f"the loop on line {loop.lineno} is over a tuple")
        self._edits.append(
            Edit(self._script.start(data), self._script.start(data), "stepper.over(")
        )
        self._edits.append(Edit(self._script.end(data), self._script.end(data), ")"))

    def _deposit(self, loss: Loss, *, more: bool, again: bool) -> None:
        node = loss.site.statement.node
        text = self._source(loss.value)
        told = ", more=True" if more else ""
        if loss.retains is not None:
            told += f", retain_graph={self._source(loss.retains)}"
        self._replace(loss.site.call, f"stepper.backward({text}{told})")
        if loss.where is None or loss.divided is None:
            return
        if isinstance(loss.divided, ast.BinOp) and plain(loss.divided.left) != plain(loss.value):
            end = self._script.end(loss.divided)
            self._edits.append(Edit(self._behind(loss.divided), end, ""))
            by = self._source(loss.divided.right)
        else:
            self._remove([loss.where])
            by = self._source(
                loss.divided.right if isinstance(loss.divided, ast.BinOp) else loss.divided.value
            )
        if again:
            indent = self._indent(loss.site.statement)
            line = self._script.line_of(self._script.end(node))
            end = self._script.line_start(line + 1)
            name = plain(loss.value)
            code = f"{indent}{name} = {name} / {by}{self._script.line_end(line)}"
            self._edits.append(Edit(end, end, code))

    def _behind(self, division: ast.BinOp) -> int:
        """Where what is divided ends, with its parentheses: at the operator, without blanks."""
        operator = self._script.text.rindex(
            "/", self._script.end(division.left), self._script.start(division.right)
        )
        return len(self._script.text[:operator].rstrip())

    def _remove(self, statements: Iterable[Statement]) -> None:
        """Takes statements out, with the blocks and the comments that were about nothing else."""
        gone = {id(statement.node) for statement in statements}
        tops: dict[int, Statement] = {}
        for statement in statements:
            top = statement
            while top.parent is not None and _is_emptied(top.parent.node, gone):
                top = top.parent
                gone.add(id(top.node))
            tops[id(top.node)] = top
        for top in tops.values():
            if top.parent is not None and id(top.parent.node) in gone:
                continue
            self._indent(top)
            if all(id(s) in gone for s in top.block):
                raise NotAdopted(f"nothing would be left of the block of line {top.node.lineno}")
            first, last = top.node.lineno, self._script.line_of(self._script.end(top.node))
            start = self._script.line_start(first)
            if self._heads_only(top, gone):
                start = self._above_comments(start, self._indent(top))
            start = self._without_blank(start, last)
            self._edits.append(Edit(start, self._script.line_start(last + 1), ""))

    def _heads_only(self, statement: Statement, gone: set[int]) -> bool:
        """True if all statements up to the next comment or blank line go."""
        line = statement.node.lineno
        for node in statement.block[statement.index :]:
            above = self._line(node.lineno - 1).lstrip()[:1]
            if node is not statement.node and node.lineno > line and above in ("", "#"):
                return True
            if id(node) not in gone:
                return False
            line = node.lineno
        return True

    def _without_blank(self, start: int, last: int) -> int:
        """The blank line above goes, too, where another one or the end of the block is below."""
        line = self._script.line_of(start)
        above, below = self._line(line - 1), self._line(last + 1)
        if line > 1 and not above.strip() and (not below.strip()):
            return self._script.line_start(line - 1)
        return start

    def _line(self, number: int) -> str:
        script = self._script
        return script.text[script.line_start(number) : script.line_start(number + 1)]

    def _indent(self, statement: Statement) -> str:
        node = statement.node
        if not hasattr(node, "body"):
            indent = self._script.indent(node)
            if indent is None:
                raise NotAdopted(f"line {node.lineno} has more than one statement on it")
            return indent
        start = self._script.start(node)
        before = self._script.text[self._script.line_start(node.lineno) : start]
        if before.strip():
            raise NotAdopted(f"line {node.lineno} has more than one statement on it")
        return before

    def _replace(self, node: ast.expr, text: str) -> None:
        self._edits.append(Edit(self._script.start(node), self._script.end(node), text))

    def _source(self, node: ast.expr) -> str:
        return self._script.text[self._script.start(node) : self._script.end(node)]


def _is_emptied(node: ast.stmt, gone: set[int]) -> bool:
    """True if nothing is left in a block without an `else`."""
    if not isinstance(node, ast.If | ast.For) or node.orelse:
        return False
    return all(id(inner) in gone for inner in node.body)


def _last_together(body: Sequence[ast.stmt], imports: Sequence[ast.stmt]) -> ast.stmt | None:
    """The last of the imports at the top, before other code; a docstring may come first."""
    last = None
    for number, statement in enumerate(body):
        if statement in imports:
            last = statement
        elif not (number == 0 and isinstance(statement, ast.Expr)):
            break
    return last
