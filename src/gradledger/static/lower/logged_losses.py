"""Sums of losses that are looked at, and that nothing walks: evaluations that record graphs.

Whether a graph that was put into a sum is of no use can be told only where each use of the sum, and
of all that it is handed on to, stands in the source and asks for no more than its value.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.events import Keep
from gradledger.ledger.places import Place
from gradledger.static.domain.scopes import Scope
from gradledger.static.domain.values import Places, Thing
from gradledger.static.ir.blocks import events_in, holds, pieces
from gradledger.static.ir.effects import Deposits, HandsOver
from gradledger.static.ir.keys import within
from gradledger.static.ir.program import Loop, Program
from gradledger.static.lower.spelling import called_name, last_name
from gradledger.static.project.module import Function
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

Holder = tuple[Scope, str]
"""A name, and the call in which it stands for what holds the graph."""

NUMBERS = frozenset({"item", "tolist", "detach", "numpy", "data", "append", "clear", "format"})
"""Of a tensor or a list: what leads to no graph, or only puts more into it."""

SAME_GRAPH = frozenset(
    {
        *("mean", "sum", "sqrt", "exp", "log", "abs", "cpu", "cuda", "to", "float", "double"),
        *("squeeze", "unsqueeze", "view", "reshape", "stack", "cat", "tensor", "as_tensor", "max"),
        *("min", "average", "array"),
    }
)
"""Methods and functions whose result is used like what they are given."""

SHOWN_BY = frozenset(
    {
        *("print", "float", "int", "str", "round", "len", "isnan", "isinf", "isfinite", "pprint"),
        *("format", "info", "debug", "warning", "add_scalar", "set_postfix", "set_postfix_str"),
        *("set_description", "write", "isinstance", "add_scalars", "log_metric", "scalar_summary"),
    }
)
"""Functions and methods that look at a value, and do nothing else with it."""


SWITCHES = Pattern(r"set_grad_enabled", words=("set_grad_enabled",))
"""Words of files in which the recording of graphs may be off from some call on."""


def only_shown(machine: Machine, program: Program) -> Places:
    """The sums whose graphs are surely recorded, of nets that are trained, and never walked."""
    deposits = [e for e in events_in(program) if isinstance(e, Deposits)]
    modules = {scope.module for scope in machine.log.scopes.values()}
    if holds(program, HandsOver) or any(m.says_anywhere(SWITCHES) for m in modules):
        return frozenset()
    walked = frozenset().union(*(d.walks for d in deposits))
    trained = {key for d in deposits for key in d.keys if not any(within(key, f) for f in d.frozen)}
    loops = _innermost_loops(program) if machine.log.recorded else {}
    return frozenset(
        place
        for place, (loss, scope, loop) in machine.log.recorded.items()
        if place not in walked
        and not loss.reach.isdisjoint(trained)
        and place in loops
        and not holds(loops[place], Deposits)  # nothing is walked in the rounds that add it up
        and _Uses(machine, machine.log.holders.get(place, set())).are_only_read(loss, scope, loop)
    )


def _innermost_loops(program: Program) -> dict[Place, Loop]:
    """By the places where losses are kept, the smallest loop around each."""
    found: dict[Place, tuple[int, Loop]] = {}
    for loop in pieces(program):
        if isinstance(loop, Loop) and holds(loop, Keep):
            events = list(events_in(loop))
            for place in {event.at for event in events if isinstance(event, Keep)}:
                if place not in found or len(events) < found[place][0]:
                    found[place] = len(events), loop
    return {place: loop for place, (_, loop) in found.items()}


class _Uses:
    """What is done with all that holds a sum."""

    def __init__(self, machine: Machine, holders: set[Holder]) -> None:
        self._modules = {scope.module for scope in machine.log.scopes.values()}
        self._holders = holders
        self._held = {(_tree(scope), name) for scope, name in holders}
        self._callers_asked: set[str] = set()

    def are_only_read(self, loss: Thing, scope: Scope, loop: ast.For | None) -> bool:
        """Is each loss in its loop, and the sum everywhere, used for its value alone?"""
        if not self._holders or not self._all_read(loop, scope, loss.key.rpartition(":")[2]):
            return False
        return all(
            name.isidentifier() and self._all_read(_tree(scope), scope, name)
            for scope, name in self._holders
        )

    def _all_read(self, tree: ast.AST | None, scope: Scope, name: str) -> bool:
        """Is the name used for its value alone, wherever it stands in there?"""
        if tree is None:
            return False
        parents = _parents(tree)
        return all(self._reads(node, parents, scope) for node in _named(tree, name))

    def _reads(self, node: ast.AST, parents: dict[ast.AST, ast.AST], scope: Scope) -> bool:
        """Is what it is used for the value of a tensor, and not its graph?"""
        while True:
            used, node = node, parents[node]
            match node:
                case ast.Compare() | ast.If() | ast.While() | ast.Assert() | ast.Expr():
                    return True
                case ast.FormattedValue():
                    return True
                case ast.BinOp() | ast.UnaryOp() | ast.IfExp() | ast.BoolOp() | ast.keyword():
                    pass
                case ast.Tuple() | ast.List() | ast.Dict() | ast.Subscript(ctx=ast.Load()):
                    pass
                case ast.Attribute(attr=name):
                    if name in NUMBERS:
                        return True
                    if name not in SAME_GRAPH:
                        return False
                case ast.Call(func=func) if func is used:
                    pass  # a method, of which was asked above
                case ast.Call():
                    if called_name(node) in SHOWN_BY:
                        return True
                    if called_name(node) not in SAME_GRAPH:
                        return self._is_followed(node, scope)
                case ast.Assign(targets=[ast.Name() as target]) | ast.AugAssign(target=target):
                    return self._holds(target, scope)
                case ast.Assign(targets=[ast.Tuple(elts=targets)]):
                    return all(self._holds(target, scope) for target in targets)
                case ast.For(target=target) | ast.comprehension(target=target):
                    return self._holds(target, scope)
                case ast.Return():
                    return self._callers_read(scope)
                case _:
                    return False

    def _holds(self, target: ast.expr, scope: Scope) -> bool:
        """Is it a name whose own uses are looked at?"""
        return (_tree(scope), last_name(target)) in self._held

    def _is_followed(self, call: ast.Call, scope: Scope) -> bool:
        """`losses.append(total)`, or a function whose parameters are looked at in their turn?"""
        match call.func:
            case ast.Attribute(ast.Name() as holder, "append"):
                return self._holds(holder, scope)
            case ast.Attribute(value, "step"):
                return "sched" in last_name(value).lower()  # which is told a metric
        return any(getattr(tree, "name", "") == called_name(call) for tree, _ in self._held)

    def _callers_read(self, scope: Scope) -> bool:
        """Do all who call the function read what it returns? Of a root, nobody knows who does."""
        name = getattr(scope.node, "name", "")
        if scope.via is None or not name:
            return False
        if name in self._callers_asked:
            return True
        self._callers_asked.add(name)
        return all(
            self._reads(call, parents, around) for call, parents, around in self._calls_of(name)
        )

    def _calls_of(self, name: str) -> Iterator[tuple[ast.Call, dict[ast.AST, ast.AST], Scope]]:
        for module in self._modules:
            parents = _parents(module.tree)
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Call) and called_name(node) == name:
                    around: ast.AST | None = parents.get(node)
                    while around is not None and not isinstance(around, Function):
                        around = parents.get(around)
                    yield node, parents, Scope("", module, node=around)


def _named(tree: ast.AST, name: str) -> Iterator[ast.Name]:
    """Where the name is asked for, without functions that have another one like it."""
    todo = list(ast.iter_child_nodes(tree))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            yield node
        if not (isinstance(node, Function) and name in _own_names(node)):
            todo.extend(ast.iter_child_nodes(node))


def _own_names(function: ast.AST) -> set[str]:
    given = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    return given | {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _tree(scope: Scope) -> ast.AST:
    return scope.node or scope.module.tree


def _parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
