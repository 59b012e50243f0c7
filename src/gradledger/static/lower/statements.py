"""Walks through statements, each by its kind."""

from __future__ import annotations

from gradledger.static.domain.values import FunctionDef
from gradledger.static.ir.program import NOTHING, Branch, Do, Forget, Leave
from gradledger.static.lower.loops import Loops
from gradledger.static.lower.spelling import called_name
from gradledger.static.lower.with_ import NO_GRAD
from gradledger.static.project.module import Function
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit", "os.abort"})
"""After these, there is nothing more to follow."""


class Statements(Loops):
    """One method for each kind of statement."""

    def run(self, body: list[ast.stmt]) -> None:
        """Walks through the statements in order."""
        before, self.ended = self.ended, []
        for statement in body:
            self.count_statement()
            walk = _WALK.get(type(statement))
            if walk is not None:
                walk(self, statement)
            if self.out and isinstance(self.out[-1], Leave):
                last = self.out.pop()
                self.end_epochs()
                self.out.append(last)
                break
        else:
            self.end_epochs()
        self.ended = before

    def end_epochs(self) -> None:
        """The data of a loop in this block has ended, and nobody has spent its rest since."""
        for ran_out, event in self.ended:
            self.out.append(Branch(Do(event), NOTHING, ran_out))
            self.out.append(Forget(ran_out))

    def expression(self, node: ast.Expr) -> None:
        """A call, mostly."""
        if isinstance(node.value, ast.BoolOp):
            self.branching(self._as_branch(node, node.value))
            return
        self.eval(node.value)
        if not isinstance(node.value, ast.Call):
            return
        if (left := self._leaves(node.value.func)) is not None:
            self.out.append(left)
        # Both until the end of this block.
        match called_name(node.value), node.value.args:
            case "set_grad_enabled", [ast.Constant(value=bool(enabled))]:
                self.grad_enabled = enabled
            case "set_grad_enabled", _:
                self.grad_in_doubt = True
            case "enter_context", [ast.Call() as manager]:
                self.grad_enabled &= called_name(manager) not in NO_GRAD

    def _as_branch(self, node: ast.Expr, value: ast.BoolOp) -> ast.If:
        """`amp and scaler.update()`: the same as with `if`."""
        branch = self.known.branches.get(id(node))
        if branch is None:
            *tests, last = value.values
            test = tests[0] if len(tests) == 1 else ast.BoolOp(value.op, tests)
            if isinstance(value.op, ast.Or):
                test = ast.UnaryOp(ast.Not(), test)
            branch = ast.If(test, [ast.Expr(last)], [])
            for made in (branch, branch.body[0], test):
                ast.copy_location(made, node)
            self.known.branches[id(node)] = branch
        return branch

    def _leaves(self, function: ast.expr) -> Leave | None:
        """`sys.exit`, or a function of the project's own that ends so, or raises."""
        if ast.unparse(function) in EXITS:
            return Leave("exit")
        called = self.eval(function) if isinstance(function, ast.Name) else None
        body = getattr(called.node, "body", []) if isinstance(called, FunctionDef) else []
        match body[-1] if isinstance(body, list) and body else None:
            case ast.Raise():
                return Leave("raise")
            case ast.Expr(value=ast.Call(func=last)) if ast.unparse(last) in EXITS:
                return Leave("exit")
        return None

    def trying(self, node: ast.Try) -> None:
        """`try`: it may break off anywhere."""
        from gradledger.static.lower.try_ import tried

        tried(self, node)

    def insisting(self, node: ast.Assert) -> None:
        """`assert False` is as good as `raise`."""
        if isinstance(node.test, ast.Constant) and not node.test.value:
            self.out.append(Leave("raise"))

    def defining(self, node: Function) -> None:
        """`def`: a closure of what is around it."""
        value = FunctionDef(node, self.scope.module, self.scope.id)
        self.store[self.full_name(node.name)] = value

    def defining_class(self, node: ast.ClassDef) -> None:
        """`class` inside of a function; at the top level, the module knows it."""

    def importing(self, node: ast.Import | ast.ImportFrom) -> None:
        """An import inside of a function."""
        if self.scope.id:
            self.scope.module._define(node)


_WALK: dict[type[ast.stmt], Callable[[Any, Any], None]] = {
    ast.Assign: Statements.assignment,
    ast.AnnAssign: Statements.annotated,
    ast.AugAssign: Statements.augmented,
    ast.Expr: Statements.expression,
    ast.Delete: Statements.deletion,
    ast.If: Statements.branching,
    ast.Match: Statements.matching,
    ast.Return: Statements.returning,
    ast.Raise: Statements.raising,
    ast.Assert: Statements.insisting,
    ast.Break: Statements.breaking,
    ast.Continue: Statements.continuing,
    ast.FunctionDef: Statements.defining,
    ast.AsyncFunctionDef: Statements.defining,
    ast.ClassDef: Statements.defining_class,
    ast.Import: Statements.importing,
    ast.ImportFrom: Statements.importing,
    ast.With: Statements.managing,
    ast.AsyncWith: Statements.managing,
    ast.Try: Statements.trying,
    ast.For: Statements.iterating,
    ast.AsyncFor: Statements.iterating,
    ast.While: Statements.repeating,
}
