"""Follows roots: each in a walk of its own, all within the bounds for one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradledger.ledger.tuples import NamedTuple
from gradledger.ledger.values import replace
from gradledger.static import budget
from gradledger.static.domain.flow import Flow
from gradledger.static.domain.log import Log
from gradledger.static.domain.scopes import Knowledge, TooMuchCode
from gradledger.static.domain.values import ClassDef, FunctionDef, Optimizer, Thing
from gradledger.static.ir.blocks import holds
from gradledger.static.ir.effects import Deposits, Spends
from gradledger.static.ir.program import Program
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.attributes import method_of
from gradledger.static.lower.branches import excuse_drops
from gradledger.static.lower.ignite import repeat
from gradledger.static.lower.inline import call_function
from gradledger.static.lower.lightning import is_lightning
from gradledger.static.lower.machine import Machine
from gradledger.static.lower.root import THE_SCRIPT, Root, root_of
from gradledger.static.project.module import Function, Module
from gradledger.static.project.project import Project
from gradledger.static.source import syntax as ast
from gradledger.static.source.vocabulary import DEPOSITS, STEPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


def call_root(machine: Machine, function: FunctionDef, node: ast.AST) -> None:
    """Calls what nobody calls in sight; and what that gives, for each batch, if it trains."""
    given = call_function(machine, function, Arguments(), node, root=True)
    if isinstance(given, FunctionDef) and all(
        given.module.says(words, given.node) for words in (DEPOSITS, STEPS)
    ):
        repeat(machine, given, node, root=True)


class Made(NamedTuple):
    """What is known once the `__init__` of a class has run."""

    flow: Flow
    log: Log
    statements: int


class Following:
    """What of a file is followed: what was done so far, and how much more may be."""

    def __init__(self, project: Project, module: Module) -> None:
        self._project = project
        self.module = module
        self._known = Knowledge()
        self._left = budget.MOST_STATEMENTS_IN_A_FILE
        self._work_left = budget.MOST_WORK_IN_A_FILE
        self.done: set[int] = set()
        """Functions that were come through, by identity."""
        self.trained: set[int] = set()
        """Those on the way through which something was deposited and spent."""
        self._made: dict[int, Made] = {}
        """By class, what is known once its `__init__` has run."""
        self.top = self._walk()
        """The walk through the script."""

    def _walk(self) -> Machine:
        return Machine(self._project, self.module, self._known)

    def script(self) -> Root:
        """The top level of the file; of a notebook, cell by cell."""
        machine = self.top

        def write() -> None:
            if not self.module.cells:
                machine.run(self.module.tree.body)
                return
            for statements in _by_cell(self.module):
                # Who goes on to another cell may leave behind what the last one computed.
                excuse_drops(machine, statements[0])
                machine.run(statements)

        return self._followed(machine, THE_SCRIPT, self.module.tree, write)

    def function(self, node: Function) -> Root:
        """A function that nobody calls, called once the script has run."""
        machine = self._after_script()
        function = FunctionDef(node, self.module, "")

        def write() -> None:
            call_root(machine, function, node)

        return self._followed(machine, f"{node.name}()", node, write)

    def method(self, cls: ClassDef, method: FunctionDef, name: str) -> Root:
        """A method that nobody calls, called on an object that was made just before."""
        from gradledger.static.lower.late_attributes import set_by_others

        machine = self._after_script()
        thing = Thing("self", cls=cls)
        machine.set("self", thing)

        def write() -> None:
            self._make(machine, thing, cls)
            for unset in set_by_others(machine, cls, name):
                machine.unset(f"self.{unset}")
            bound = replace(method, bound=thing)
            if name == "training_step" and is_lightning(machine, thing):
                repeat(
                    machine,
                    bound,
                    method.node,
                    counter=_batch_index(method.node),
                    rounds=self._batches_fitted(),
                    root=True,
                )
            else:
                call_root(machine, bound, method.node)

        root = self._followed(machine, f"{cls.node.name}.{name}()", method.node, write)
        return replace(root, of_class=cls.node.name)

    def _make(self, machine: Machine, thing: Thing, cls: ClassDef) -> None:
        """Makes the object that a method is called on; for all methods of a class, once."""
        made = self._made.get(id(cls.node))
        if made is not None:
            _go_on_from(machine, made)
            return
        outer, machine.out = machine.out, []
        init = method_of(machine, cls, "__init__")
        if init is not None:
            bound = replace(init, bound=thing)
            call_function(machine, bound, Arguments(), init.node, root=True)
        machine.out = outer
        _come_from_outside(machine)
        self._made[id(cls.node)] = Made(
            machine.fork(), machine.log.copy(), machine.effort.statements
        )

    def _batches_fitted(self) -> int | None:
        """How many batches the loader has that a Trainer is given, if that stands in the source."""
        for call in ast.walk(self.module.tree):
            match call:
                case ast.Call(func=ast.Attribute(attr="fit")):
                    names = (n.id for n in ast.walk(call) if isinstance(n, ast.Name))
                    for value in map(self.top.flow.store.get, names):
                        if isinstance(value, Thing) and value.shape:
                            return value.shape[0]
        return None

    def _after_script(self) -> Machine:
        """A walk that knows what the script has made; what it did to it is past."""
        machine = self._walk()
        machine.flow = Flow(dict(self.top.flow.store))
        machine.log.scopes.update(
            {id: scope for id, scope in self.top.log.scopes.items() if id != ""}
        )
        machine.log.numbered = self.top.log.numbered
        machine.log.optimizers = dict(self.top.log.optimizers)
        _come_from_outside(machine)
        return machine

    def _followed(
        self, machine: Machine, what: str, node: ast.AST, write: Callable[[], None]
    ) -> Root:
        """Walks as far as is allowed, and keeps account of it."""
        why = ""
        machine.effort.most_statements = min(machine.effort.most_statements, self._left)
        machine.effort.most_work = min(machine.effort.most_work, self._work_left)
        program: Program | None = None
        try:
            program = machine.block(write)
        except TooMuchCode as error:
            why = str(error)
            # Behind its other roots there is likely the same: one more try, half as far.
            self._left = min(self._left, machine.effort.statements + budget.MOST_STATEMENTS // 2)
            self._work_left = min(self._work_left, machine.effort.work + budget.MOST_WORK // 2)
        except RecursionError:
            why = "it is nested too deeply"
        self.done |= machine.log.inlined
        if program is not None and holds(program, Deposits) and holds(program, Spends):
            self.trained |= {*machine.log.inlined, id(node)}
        self._left = max(self._left - machine.effort.statements, 0)
        self._work_left = max(self._work_left - machine.effort.work, 0)
        if machine.log.hooked:
            program, why = None, "hooks get hold of each gradient as it arrives"
        return root_of(machine, what, node, program, why)


def _go_on_from(machine: Machine, made: Made) -> None:
    """Knows what another machine did, as if this one had walked there."""
    root = machine.log.scopes[""]
    machine.flow, machine.log = made.flow, made.log.copy()
    machine.effort.statements = made.statements
    machine.log.scopes[""] = root


def _batch_index(node: ast.AST) -> str:
    """What a training step calls the number of its batch."""
    arguments = getattr(node, "args", None)
    names = [a.arg for a in arguments.args] if isinstance(arguments, ast.arguments) else []
    return next((n for n in names if n in ("batch_idx", "batch_index", "batch_nb", "idx")), "")


def _by_cell(module: Module) -> Iterator[list[ast.stmt]]:
    """The statements of a notebook, cell by cell."""
    starts = list(module.cells)
    cell: list[ast.stmt] = []
    for statement in module.tree.body:
        while starts and statement.lineno >= starts[0]:
            starts.pop(0)
            if cell:
                yield cell
            cell = []
        cell.append(statement)
    if cell:
        yield cell


def _come_from_outside(machine: Machine) -> None:
    """What was made before is as it was left: nobody knows by whom."""
    for name, optimizer in list(machine.log.optimizers.items()):
        machine.log.optimizers[name] = replace(optimizer, outside=True)
    for name, value in list(machine.flow.store.items()):
        if isinstance(value, Optimizer):
            machine.set(name, replace(value, outside=True))
