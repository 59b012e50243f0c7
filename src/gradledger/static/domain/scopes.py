"""Where a walk is, how far it goes, and what all walks through a file have found out."""

from __future__ import annotations

from collections import Counter

from gradledger.errors import GradledgerError
from gradledger.ledger.places import Place
from gradledger.static import budget
from gradledger.static.domain.values import ClassDef, FunctionDef, Known
from gradledger.static.project.module import Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TOO_MUCH = "there is too much code behind it to follow"


class TooMuchCode(GradledgerError):
    """There is more code behind a function than is worth following: it is unknown."""


class Effort:
    """The statements that were walked, and the work that it took."""

    def __init__(self) -> None:
        self.statements = 0
        """Without those of loops in which nothing happens."""
        self.most_statements = budget.MOST_STATEMENTS
        self.work = 0
        """All of it, and never less than before."""
        self.most_work = budget.MOST_WORK

    def count_statement(self) -> None:
        """Raises TooMuchCode where there is no end to it."""
        self.statements += 1
        self.count_work(1)
        if self.statements > self.most_statements:
            raise TooMuchCode(TOO_MUCH)

    def count_names(self, number: int) -> None:
        """Counts that so many names are compared, or copied."""
        self.count_work(number // budget.NAMES_IN_A_STEP)

    def count_work(self, steps: int) -> None:
        """Raises TooMuchCode where nobody has the time."""
        self.work += steps
        if self.work > self.most_work:
            raise TooMuchCode(TOO_MUCH)


Callee = tuple[int, int]
"""A function, and the class of the object that it is a method of."""


class Knowledge:
    """Answers by the identity of the trees that they are about.

    The trees live as long as this does, so that no identity is used twice.
    """

    def __init__(self) -> None:
        self.called: dict[Callee, list[FunctionDef]] = {}
        """The functions of the project that each calls, where all of them were asked for."""
        self.interesting: dict[Callee, bool] = {}
        self.depositing: dict[Callee, bool] = {}
        self.spending: dict[Callee, bool] = {}
        self.doing: dict[Callee, bool] = {}
        self.attaching: dict[Callee, bool] = {}
        self.in_sight: dict[Callee, bool] = {}
        """Whether what deposits there is code that can be followed."""
        self.asked: dict[int, frozenset[str]] = {}
        """By function, the names in it that must be nets."""
        self.generators: dict[int, bool] = {}
        self.backwarded: dict[int, set[str]] = {}
        self.loss_terms: dict[int, frozenset[str]] = {}
        """By function, the names of what is added up to the losses that it walks back."""
        self.declared: dict[int, frozenset[str]] = {}
        """By function, the names that it says are global."""
        self.spelled: dict[int, str] = {}
        """Conditions, as `ast.unparse` writes them."""
        self.dividing: dict[int, frozenset[str]] = {}
        """By module, the names of sizes that its data is a multiple of."""
        self.answered: dict[int, Counter[str]] = {}
        """By module, how often each name gets a yes or no."""
        self.summing: dict[int, bool] = {}
        self.several: dict[int, bool] = {}
        self.wrapping: dict[int, bool] = {}
        self.told_windows: dict[int, tuple[ast.expr, ...]] = {}
        """By module, how it spells the windows that it tells frameworks of."""
        self.branches: dict[int, ast.If] = {}
        """For statements like `amp and scaler.update()`, the `if` that they stand for."""
        self.impure: dict[int, bool] = {}
        """Whether there are calls in an expression."""
        self.only_called: dict[int, frozenset[str]] = {}
        """By tree, the names of modules that are made and called, and nothing else."""
        self.lineages: dict[int, list[ClassDef]] = {}
        self.bases_outside: dict[int, list[str]] = {}
        self.definitions: dict[tuple[int, str], Known | None] = {}
        """By module, what its top level defines by a name."""
        self.held_losses: dict[int, dict[str, ast.Call]] = {}
        """By class, what makes the losses that its objects have by their names."""
        self.assigned: dict[int, list[tuple[ast.Attribute, ast.expr]]] = {}
        """By function, what it gives to attributes whenever it is called."""
        self.layers: dict[int, dict[str, list[ast.expr]]] = {}
        """The same by name, of attributes of `self`."""
        self.set_in: dict[int, frozenset[str]] = {}
        """By function, the names on `self` that it gives something to."""
        self.handed_again: dict[tuple[int, str], bool] = {}
        """By module, and by the names of models: whether it hands their parameters over twice."""


class Scope:
    """The names of one call of a function, or of a module."""

    __slots__ = (
        "cls",
        "id",
        "loops",
        "module",
        "node",
        "parent",
        "returned",
        "self_value",
        "via",
    )

    def __init__(
        self,
        id: str,
        module: Module,
        *,
        parent: str | None = None,
        via: Place | None = None,
        node: ast.AST | None = None,
        loops: int = 0,
    ) -> None:
        self.id = id
        """In front of every name: empty for the root."""
        self.loops = loops
        """How many were going round when it was called."""
        self.module = module
        self.parent = parent
        """The scope that it was defined in."""
        self.via = via
        self.node = node
        self.returned: list[Known] = []
        self.self_value: Known | None = None
        self.cls: object = None


DATA = Pattern(r"(?i)load|data|iter|batch|val|test|dev|held|dl\b")
"""Names of data that is gone through batch by batch."""


NUMBERS = Pattern(r"\.(?:item|detach|data|numpy|tolist|argmax)\b|float\(")
"""Words of expressions that have no graph."""


class LoopState:
    """A loop that is being walked."""

    __slots__ = (
        *("assigned", "born", "first", "id", "last", "length", "of_data", "read"),
        *("_hands_on", "node", "set_back", "windows"),
    )

    def __init__(self, id: str) -> None:
        self.id = id
        self.assigned: dict[str, Place] = {}
        self.born: set[str] = set()
        """Objects that it makes, in each round others."""
        self.read: set[str] = set()
        """Names that were looked at before they were assigned in this round."""
        self.windows: dict[str, tuple[str, str, int]] = {}
        """Counters that close windows: the conditions for the first and the last micro-batch, and
        the size, 0 where that does not stand in the source."""
        self.set_back: dict[str, int] = {}
        """Counters that a round may set back to where they began, and where that is."""
        self.last: str | None = None
        self.first: str | None = None
        self.of_data = False
        """It goes through data, as it comes, and not through numbers."""
        self.node: ast.For | None = None
        """Where it stands."""
        self.length = ""
        """How it is spelled how often the loop goes round."""
        self._hands_on: bool | None = None

    @property
    def hands_on(self) -> bool:
        """True if a round may leave tensors behind, with their graphs, in other things than sums.

        It may where it isn't known what the loop is.
        """
        if self._hands_on is None:
            self._hands_on = self.node is None or _hands_on(self.node)
        return self._hands_on

    def is_of_all_data(self, around: tuple[LoopState, ...]) -> bool:
        """Does it go through a data set, and not through parts of what another loop draws?"""
        if not self.of_data or self.node is None:
            return False
        source = self.node.iter
        names = {node.id for node in ast.walk(source) if isinstance(node, ast.Name)}
        given = {full.rpartition(":")[2] for loop in around for full in loop.assigned}
        return not names & given and bool(DATA.search(ast.unparse(source)))


def _hands_on(loop: ast.For) -> bool:
    for node in ast.walk(loop):
        match node:
            case ast.Yield() | ast.YieldFrom():
                return True
            case ast.Call(func=ast.Attribute(attr="append" | "extend" | "update" | "add")):
                if not NUMBERS.search(ast.unparse(node)):
                    return True
            case ast.Assign(targets=targets):
                if any(isinstance(target, ast.Subscript | ast.Attribute) for target in targets):
                    return True
    return False
