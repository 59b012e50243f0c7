"""`try`: a body that may break off anywhere, and what is done then."""

from __future__ import annotations

from gradledger.ledger.events import Fault
from gradledger.static import syntax as ast
from gradledger.static.lowering.blocks import acts, branch, does, holds
from gradledger.static.lowering.choices import CLEARS, Choices
from gradledger.static.lowering.effects import Deposits
from gradledger.static.lowering.joining import joined
from gradledger.static.program import Try
from gradledger.static.vocabulary import STEPS


class Trying(Choices):
    """What is broken off, and what it leaves behind."""

    def trying(self, node: ast.Try) -> None:
        """`try`: it may break off anywhere."""
        if not node.handlers:
            self.run(node.body)
            self.run(node.orelse)
            self.run(node.finalbody)
            return
        before = dict(self.store)

        def attempt() -> None:
            self.run(node.body)
            self.run(node.orelse)

        def recover() -> None:
            self.store = joined(self.store, before)
            if any(CLEARS.search(self.scope.module.text(h)) for h in node.handlers):
                self.excuse(node)
            self._handlers(node.handlers)

        body = self.block(attempt)
        after = self.store
        handler = self.block(recover)
        self.store = joined(after, self.store)
        torn = holds(body, Deposits) and not self._answers(node)
        fault = Fault(self.at(node.handlers[0])) if torn else None
        if acts(body) or acts(handler) or does(body) or does(handler):
            self.out.append(Try(body, handler, fault))
        self.run(node.finalbody)

    def _answers(self, node: ast.Try) -> bool:
        """Does somebody learn that it was broken off, or is it done again from the start?"""
        if any(map(_says_how_it_went, node.handlers)) or _sets_a_flag(node.body[-1]):
            return True
        around = self.scope.node or self.scope.module.tree
        if _counts_what_went_well(node.body[-1], around):
            return True
        if any(CLEARS.search(self.scope.module.text(s)) for s in node.finalbody):
            return True
        again = [
            loop
            for loop in ast.walk(around)
            if isinstance(loop, ast.While) and any(inner is node for inner in ast.walk(loop))
        ]
        if not again or not CLEARS.search(self.scope.module.text(again[-1])):
            return False
        return not self._goes_on_to_a_step(node, again[-1])

    def _goes_on_to_a_step(self, node: ast.Try, loop: ast.While) -> bool:
        """Does a step follow in the same round, ahead of any clear and any way out?"""
        for body in (getattr(inner, "body", None) for inner in ast.walk(loop)):
            if not isinstance(body, list) or node not in body:
                continue
            for statement in body[body.index(node) + 1 :]:
                text = self.scope.module.text(statement)
                if isinstance(statement, ast.Expr) and STEPS.search(text):
                    return True
                if CLEARS.search(text) or not isinstance(statement, ast.Expr | ast.Assign):
                    return False
        return False

    def _handlers(self, handlers: list[ast.ExceptHandler]) -> None:
        if len(handlers) == 1:
            self.run(handlers[0].body)
            return
        then, orelse = self.both(
            lambda: self.run(handlers[0].body), lambda: self._handlers(handlers[1:])
        )
        self.out.append(branch(then, orelse, None))


def _says_how_it_went(handler: ast.ExceptHandler) -> bool:
    """`except …: failed = True`, or `return False`."""
    return any(isinstance(s, ast.Return) or _sets_a_flag(s) for s in ast.walk(handler))


def _sets_a_flag(statement: ast.AST) -> bool:
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Constant | ast.Name)


def _counts_what_went_well(last: ast.stmt, around: ast.AST) -> bool:
    """`good += 1`, and somewhere `if good < size`?"""
    match last:
        case ast.AugAssign(target=ast.Name(id=name), value=ast.Constant()):
            asked = (n.test for n in ast.walk(around) if isinstance(n, ast.If | ast.IfExp))
            return any(_compares(inner, name) for test in asked for inner in ast.walk(test))
    return False


def _compares(node: ast.AST, name: str) -> bool:
    sides = (node.left, *node.comparators) if isinstance(node, ast.Compare) else ()
    return any(isinstance(side, ast.Name) and side.id == name for side in sides)
