"""Code that walks back and has nobody who spends: there is nothing in it that a law is about.

A test of a layer's backward, a tour of autograd, an attribution map in a notebook. A function is
different: who calls it may well step. So this is said only of scripts, tests and notebooks, which
nobody else calls, and only where neither they nor what they call have a word of a step, of an
optimizer or of a trainer. If they use gradients, they were followed, too, and update nothing. Who
hands a net to a function that is not found may have it stepped there.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator

from gradledger.ledger.values import replace
from gradledger.static.domain.values import ClassDef, External, FunctionDef, Thing
from gradledger.static.lower.call_graph import called_in, reaches, spends
from gradledger.static.lower.names import BUILTINS, defined, module_scope
from gradledger.static.lower.spelling import called_name
from gradledger.static.project.module import Function, Import, Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import SPENDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.domain.scopes import Callee
    from gradledger.static.lower.machine import Machine

SPENDERS = Pattern(
    r"ptim|OPTIM|\bopt\b|step\(|rainer|\.fit\(|[eE]ngine|\.train_\w*\(|backward\( *\w*loss",
    words=("ptim", "OPTIM", "opt", "step(", "rainer", ".fit(", "ngine", ".train_", "backward("),
)
"""Words of code that may step, or leave it to somebody else."""

_LEAVE_NETS_ALONE = sys.stdlib_module_names | {"torch", "numpy", "pytest", "matplotlib", "builtins"}
"""Libraries whose functions step no net that they are given."""

_TRAINS = Pattern(
    r"(?i)train(?!ing_?mode)|fit(?:$|_)|learn|step|optimi[sz]|epoch|(?:^|_)run(?:$|_)|main$"
)
"""Names of functions that may train what they are given."""

_BACKWARD = Pattern(r"(?:^_?|(?<!test)_)backward(?:$|_pass$)|^run_backward")

_TEST_FILE = Pattern(r"(?:^|[\\/])(?:test_[^\\/]*|[^\\/]*_test|tests?)\.py$")


class Unspent:
    """Which scripts and functions of a file have gradients that nothing can spend."""

    def __init__(self, machine: Machine, followed: Collection[int]) -> None:
        """`followed`: the roots that spend nothing, by the identity of their code."""
        self._machine = machine
        self._followed = followed
        self._known: dict[Callee, bool] = {}

    def is_script(self, module: Module) -> bool:
        """True if nothing at the top level of the file, nor what it calls, can spend."""
        definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        inside = [each for each in module.tree.body if not isinstance(each, definition)]
        if any(module.says(SPENDERS, each) for each in inside):
            return False
        if _hands_over(self._machine, module, inside):
            return False
        if id(module.tree) not in self._followed and any(
            module.says(SPENDS, each) for each in inside
        ):
            return False
        return not any(map(self._may_spend, called_in(self._machine, module, inside)))

    def is_function(self, module: Module, node: ast.stmt, cls: ast.ClassDef | None) -> bool:
        """True if it is a test, or in a notebook, and nothing in it, nor what it calls, spends."""
        if not isinstance(node, Function):
            return False
        if _is_a_backward(node, module):
            return True
        if not (_is_test(node, module) or module.cells):
            return False
        owner = None if cls is None else ClassDef(cls, module)
        scope = module_scope(self._machine, module)
        function = FunctionDef(node, module, scope, None, owner)
        if owner is not None:
            function = replace(function, bound=Thing("self", cls=owner))
        looks = self._may_train if _is_test(node, module) else self._has_spenders
        if id(node) in self._followed:
            return not reaches(self._machine, function, self._known, looks)
        return not (
            spends(self._machine, function) or reaches(self._machine, function, self._known, looks)
        )

    def _may_spend(self, function: FunctionDef) -> bool:
        if id(function.node) in self._followed:
            return False
        return spends(self._machine, function) or reaches(
            self._machine, function, self._known, self._has_spenders
        )

    def _may_train(self, function: FunctionDef) -> bool:
        """The same of what a test calls: one gives its nets to much that only looks at them."""
        module = function.module
        if module.says(SPENDERS, function.node):
            return True
        calls = (n for n in ast.walk(function.node) if isinstance(n, ast.Call))
        return any(
            _TRAINS.search(called_name(call)) and (call.args or call.keywords) for call in calls
        )

    def _has_spenders(self, function: FunctionDef) -> bool:
        return function.module.says(SPENDERS, function.node) or _hands_over(
            self._machine, function.module, [function.node]
        )


def _is_test(node: Function, module: Module) -> bool:
    return node.name.startswith("test") or _TEST_FILE.search(module.path) is not None


def _is_a_backward(node: Function, module: Module) -> bool:
    """Whether it stands for a backward, and does nothing else: who calls it clears and steps."""
    return _BACKWARD.search(node.name) is not None and not module.says(SPENDS, node)


def _hands_over(machine: Machine, module: Module, inside: Iterable[ast.AST]) -> bool:
    """Whether what may be a net, or may have one, is given to something that is not found."""
    calls = [n for each in inside for n in ast.walk(each) if isinstance(n, ast.Call)]
    called = {_spelled(call.func) for call in calls}
    owners = {_spelled(c.func.value) for c in calls if isinstance(c.func, ast.Attribute)}
    for call in calls:
        name = _spelled(call.func).partition(".")[0]
        found = defined(machine, module, name)
        if isinstance(found, External) and not _leaves_nets_alone(machine, module, name, found):
            doubted = called | owners
        elif found is None and name not in BUILTINS:
            doubted = called  # an object that is made here: tensors go into it, too
        else:
            continue
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if any(_spelled(part) in doubted - {""} for part in _parts(given)):
            return True
    return False


def _leaves_nets_alone(machine: Machine, module: Module, name: str, found: External) -> bool:
    if found.dotted.partition(".")[0] in _LEAVE_NETS_ALONE:
        return True
    wanted = module.definitions.get(name)
    return isinstance(wanted, Import) and machine.project.does_nothing(
        module, wanted.module, wanted.level
    )


def _parts(given: Iterable[ast.expr]) -> Iterator[ast.expr]:
    for value in given:
        match value:
            case ast.Starred(value=inner):
                yield inner
            case ast.List(elts=items) | ast.Tuple(elts=items):
                yield from _parts(items)
            case _:
                yield value


def _spelled(node: ast.expr) -> str:
    """`self.net` as it is written; empty for all else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := _spelled(node.value)):
        return f"{owner}.{node.attr}"
    return ""
