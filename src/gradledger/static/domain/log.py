"""What a walk has come by: it is added to, and holds for the walk as a whole, on whatever path."""

from __future__ import annotations

from gradledger.ledger.places import Place
from gradledger.static.domain.scopes import Scope
from gradledger.static.domain.values import Known, Optimizer, Thing
from gradledger.static.ir.notes import Note
from gradledger.static.source import syntax as ast


class Log:
    """Objects that were made, places that were passed, names that were asked for."""

    def __init__(self) -> None:
        self.scopes: dict[str, Scope] = {}
        self.numbered = 0
        """How many scopes, loops and objects have got a number."""
        self.inlined: set[int] = set()
        """The functions that were followed, by identity."""
        self.engine_calls: set[str] = set()
        """Methods of engines that own the cycle, of those that deposit and step, as were called."""
        self.unknown: list[tuple[Place, str]] = []
        """What could not be followed, and why."""
        self.notes: set[Note] = set()
        """What could speak against a finding, in ways that are not followed."""
        self.hooked = False
        """Hooks may spend or clear each gradient as it arrives."""
        self.optimizers: dict[str, Optimizer] = {}
        self.picked: dict[str, str] = {}
        """Of collections of optimizers, which are as one: the key by which one was first taken."""
        self.backwards = 0
        """How many backward passes there were."""
        self.reached: frozenset[str] = frozenset()
        """What some backward so far has reached."""
        self.divisors: dict[Place, tuple[tuple[Known, ast.expr, ast.AST], ...]] = {}
        """Where losses are divided: by what, how that is spelled, and what is divided by it."""
        self.windows: list[Known] = []
        """The numbers of micro-batches that frameworks were told to divide by."""
        self.averaged: dict[Place, bool] = {}
        """Where models are called outside of `no_sync`, and whether they surely have ranks."""
        self.made: set[str] = set()
        """Modules of torch's with parameters that the code makes itself."""
        self.copies: set[str] = set()
        """Nets that are deep copies of others."""
        self.unlisted: dict[str, frozenset[str]] = {}
        """By the key of a module, the attributes that are plain lists of layers."""
        self.ever_frozen: frozenset[str] = frozenset()
        """What `requires_grad` was taken from, somewhere."""
        self.given_away: frozenset[str] = frozenset()
        """Nets, and nets behind losses, that code out of sight has had in its hands."""
        self.in_doubt: frozenset[str] = frozenset()
        """Nets whose outputs went through code that is not followed, and may have no graph then."""
        self.recorded: dict[Place, tuple[Thing, Scope, ast.For | None]] = {}
        """Where losses whose graphs are surely recorded are put into sums over data, and in which
        call and loop that is."""
        self.holders: dict[Place, set[tuple[Scope, str]]] = {}
        """For each such place, the names by which the sum was known, and in which calls."""
        self.condition_names: dict[str, set[str]] = {}
        """For each variable, the conditions that it decides."""
        self.questions: set[str] = set()
        """Conditions that some `if` so far has asked for."""
        self.varying: set[str] = set()
        """Sizes of windows that are others in each epoch: which of them fit, who knows?"""
        self.flags: dict[str, int] = {}
        """Names that are set to True or False in loops, and in how many."""
        self.remainders: set[str] = set()
        """Names of what is left over of an epoch, behind its last full window."""
        self.closed: dict[int, Known] = {}
        """What functions gave that train nothing but what they make themselves."""

    def copy(self) -> Log:
        """A log that goes on from here by itself."""
        log = Log()
        vars(log).update({name: _copied(value) for name, value in vars(self).items()})
        return log


def _copied(value: object) -> object:
    match value:
        case dict():
            return {k: set(v) if isinstance(v, set) else v for k, v in value.items()}
        case list() | set():
            return value.copy()
        case _:
            return value
