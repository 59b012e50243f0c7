"""What an expression can be: the little that has to be known of it to follow the gradients."""

from __future__ import annotations

from gradledger.ledger.events import UNKNOWN_WEIGHT, Weight
from gradledger.ledger.places import Place
from gradledger.ledger.values import Value
from gradledger.static.ir.keys import NO_KEYS, Keys
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.project.module import Module

Places = frozenset[Place]
NO_PLACES: Places = frozenset()


class Thing(Value):
    """An object or a tensor: a model, a loss, data, anything that has no class of its own here."""

    key: str = ""
    """Its name; empty for what was just computed."""
    reach: Keys = NO_KEYS
    """What its graph leads to: a backward from here deposits there."""
    plain: bool = False
    """It has no graph, and is no model: numbers, data, what was detached."""
    weight: Weight = UNKNOWN_WEIGHT
    scaler: str | None = None
    """The GradScaler that multiplied it."""
    scaled_if: tuple[str, bool, str] | None = None
    """The condition, its answer, and the GradScaler that has multiplied it where that is so."""
    kept: Places = frozenset()
    """Where graphs were put into it over iterations: sums, lists."""
    carried: Places = frozenset()
    """Where the states that it was computed from were handed on by an earlier iteration."""
    local: bool = False
    """Its forward pass ran under `no_sync`."""
    replicated: bool = False
    """A model that averages its gradients over ranks."""
    sure: bool = False
    """The graph is surely there: no code that cannot be followed lies between it and a model."""
    by_name: bool = False
    """That the graph is there, only its name says: a backward is called on what is called so."""
    among: bool = False
    """One of several things that a call gave: it may as well be a number that is only shown."""
    optional: bool = False
    """On some way through the code it is None."""
    maybe: Keys = NO_KEYS
    """What its graph leads to on one way through the code, and not on another."""
    depth: int = 0
    """In how many loops the oldest part of its graph was computed."""
    passes: Places = frozenset()
    """The calls of models that all of its graph was made by, in this round of the loop; empty where
    that is not known."""
    leaf: bool = False
    """A tensor that requires a gradient itself."""
    shape: tuple[int, ...] = ()
    """Its size, as far as that stands in the source: of a loader, the number of batches."""
    built: str = ""
    """The class or function that made it, dotted, where that is no code of the project."""
    cls: ClassDef | None = None
    """Its class, where that is code of the project."""
    own: bool = False
    """It is of one of several classes of the project."""
    coefficients: frozenset[str] = frozenset()
    """What an undivided mean was multiplied by, where that is not known by value: `self.beta`."""
    copied: bool = False
    """It was just copied, with weights and gradients of its own."""


PLAIN = Thing(plain=True)
LENGTH = Thing(plain=True, built="builtins.len")
"""How much there is of something."""
LAST_INDEX = Thing(plain=True, built="builtins.len - 1")
"""The number of its last piece."""
UNKNOWN = Thing()
RECIPE = "a call without arguments"
"""What has made something of which only its name will tell whether it is a net, or a tensor."""


class Constant(Value):
    """A number, a text, a truth or None that stands in the source."""

    value: object
    kind: str
    """The type's name: 1 and True are not the same."""

    @classmethod
    def of(cls, value: object) -> Constant:
        """The constant with this value."""
        return cls(value, type(value).__name__)


NONE = Constant.of(None)


class Flag(Value):
    """The answer to a condition that tells where in a window or in a loop this is."""

    asked: Value


class Count(Value):
    """A counter of a loop's rounds: its value is the number of rounds before this one, and more."""

    loop: str
    """Empty for a counter that runs on, from an unknown start."""
    plus: int = 0


class Parameters(Value):
    """Parameters, all of them, or any one of them in a loop over all."""

    keys: Keys
    of: Keys = NO_KEYS
    """Optimizers whose param groups they are."""
    leaf: bool = False
    """Tensors by their own names, and not all that a model has."""


class Gradients(Value):
    """The `.grad` of parameters."""

    of: Parameters
    part: bool = False
    """Some rows of it, or of one of them."""


class Optimizer(Value):
    """An optimizer. `keys` is None where nobody sees whose parameters it has."""

    name: str
    keys: Keys | None
    made_at: Place
    outside: bool = False
    """It came from outside of what is followed: what happened before is unknown."""
    closure_loops: bool = False
    """It calls its closure several times for one step, as LBFGS does."""
    torchs: bool = False
    """It is one of torch's own, which leave it to others to differentiate."""
    key: str = ""
    """What it is called where it comes from."""
    tensors: bool = False
    """It has single tensors, and no parameters of models."""


class Scaler(Value):
    """A GradScaler."""

    name: str
    key: str = ""
    enabled: bool = True
    is_option: bool = False
    """Whether it is enabled is said elsewhere."""


class Scheduler(Value):
    """A learning-rate scheduler of these optimizers."""

    name: str
    optimizers: tuple[str, ...]
    key: str = ""
    prepared: bool = False
    """A framework moves it only when its optimizer steps."""
    by_metric: bool = False
    """Its steps are told a metric, and not where they are."""
    counts_updates: bool = True
    """Nobody has told it a number that may be one of batches."""
    perhaps: bool = False
    """It may be something else, which moves no rate."""


class Items(Value):
    """A list, tuple or dict whose items are known."""

    values: tuple[Known, ...]
    names: tuple[object, ...] = ()
    """The keys of a dict."""
    kind: str = ""
    """`list` or `tuple`, where all of it is spelled out."""

    def at(self, key: object) -> Known | None:
        """What a dict has under this key."""
        for name, value in zip(self.names, self.values, strict=False):
            if name in (key, EVERY_KEY):
                return value
        return None


EVERY_KEY = ("every key",)
"""The one name of a dict whose values are all alike, and are followed as one: meters."""


class External(Value):
    """A name that is imported from outside of the project, dotted from its top."""

    dotted: str


class Imported(Value):
    """A module of the project."""

    path: str
    module: Module

    def __hash__(self) -> int:
        return hash(self.path)


class FunctionDef(Value):
    """A function of the project, where it stands and what it can see."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    module: Module
    scope: str
    """The scope that it was defined in."""
    bound: Known | None = None
    """What it is a method of."""
    cls: ClassDef | None = None
    preset: tuple[Known, ...] = ()
    """Arguments that `functools.partial` has given it."""

    def __hash__(self) -> int:
        return id(self.node)


class ClassDef(Value):
    """A class of the project."""

    node: ast.ClassDef
    module: Module

    def __hash__(self) -> int:
        return id(self.node)


Known = (
    Thing
    | Constant
    | Count
    | Flag
    | Parameters
    | Gradients
    | Optimizer
    | Scaler
    | Scheduler
    | Items
    | External
    | Imported
    | FunctionDef
    | ClassDef
)


def reach_of(value: Known) -> Keys:
    """All that a graph through this value may lead to."""
    match value:
        case Thing():
            if value.plain or not value.key or (value.sure and value.reach):
                return value.reach
            return value.reach | {value.key}
        case Items():
            return NO_KEYS.union(*map(reach_of, value.values))
        case Parameters():
            return value.keys
        case _:
            return NO_KEYS


def kept_in(value: Known) -> Places:
    """Where graphs were put into it over iterations."""
    if isinstance(value, Items):
        return frozenset().union(*map(kept_in, value.values))
    return value.kept if isinstance(value, Thing) else frozenset()


def is_plain(value: Known) -> bool:
    """Surely without a graph."""
    match value:
        case Thing():  # most are
            return value.plain
        case Constant() | Count() | Flag():
            return True
        case Items():
            return all(map(is_plain, value.values))
        case _:
            return False


def key_of(name: object) -> Known:
    """A key of a dict, as a value."""
    return PLAIN if name == EVERY_KEY else Constant.of(name)
