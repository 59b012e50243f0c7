"""Where to begin: the script itself, and functions and methods that nobody here calls."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial

from gradledger.ledger.places import Place
from gradledger.ledger.values import Value, replace
from gradledger.static.lowering.blocks import holds
from gradledger.static.lowering.effects import Deposits, Spends
from gradledger.static.lowering.frameworks import Frameworks
from gradledger.static.lowering.freezing import freezes
from gradledger.static.lowering.inlining import Arguments
from gradledger.static.lowering.knowledge import Knowledge
from gradledger.static.lowering.set_later import set_by_others
from gradledger.static.lowering.state import MOST_STATEMENTS, MOST_WORK, TooMuchCode
from gradledger.static.lowering.strays import followers, only_called
from gradledger.static.lowering.values import ClassDef, FunctionDef, Optimizer, Thing, within
from gradledger.static.patterns import Pattern
from gradledger.static.program import NOTHING, Program
from gradledger.static.project import BACKWARDS, DEPOSITS, DOES, STEPS, Module, Project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TORCH = Pattern(
    r"(?:^|[\r\n])[ \t]*(?:import|from)[ \t]+(?:torch|pytorch_lightning|lightning|accelerate|"
    r"deepspeed|apex|transformers|fastai|ignite)|\bimport[ \t]+\*"
)
"""Other libraries have gradients too, with other laws."""

OTHERS = Pattern(
    r"(?:^|[\r\n])[ \t]*(?:import|from)[ \t]+(?:jax|flax|optax|tensorflow|keras|paddle|mxnet|"
    r"mindspore|tinygrad|chainer|oneflow|megengine|cupy)\b"
)
"""They also have a `zero_grad`, or something like it."""


def is_torch(text: str) -> bool:
    """Does the file train with torch? One may do so with what other files have made of it."""
    if TORCH.search(text):
        return True
    return "zero_grad(" in text and not OTHERS.search(text)


MAKES = Pattern(
    r"ptim|\.fit\(|DataLoader\(|randn?\(", words=("ptim", ".fit(", "DataLoader(", "rand")
)
"""Words of code that makes what deposits or spends, or data of which the size is known."""

MADE = Pattern(r"= *(?:torch\.)?(?:optim\.)?[A-Z]\w*\(.*parameters\(", words=("parameters(",))
CLEARS = Pattern(r"\.zero_grad\(", words=(".zero_grad(",))

STEPS_ITS_OWN = Pattern(r"self\.\w*opt\w*(?:\[[^\]\r\n]*\])?\.step\(", words=(".step(",))
"""Words of classes that have an optimizer and use it."""

THE_SCRIPT = "the script"

MOST_IN_A_FILE = 9_000
"""Statements that are walked for all the roots of a file together."""

MOST_WORK_IN_A_FILE = 10_000
"""Steps that are taken for all of them, also where they come to nothing."""


class Root(Value):
    """A piece of code that is followed from its beginning to its end."""

    what: str
    at: Place
    program: Program | None
    """None where it could not be followed."""
    optimizers: dict[str, Optimizer]
    condition_names: dict[str, set[str]]
    unknown: tuple[tuple[Place, str], ...]
    why: str = ""
    strays: frozenset[str] = frozenset()
    """Models that the code makes and calls, and does nothing else with."""
    contents: dict[str, frozenset[str]] = {}  # noqa: RUF012 - never changed
    """For each object, what it holds: a method that is not followed may use any of it."""
    uncounted: frozenset[Place] = frozenset()
    """Where schedules move of which nobody knows whether they count updates, or batches."""
    deferred: frozenset[Place] = frozenset()
    """Where schedules move at certain times only, or of one optimizer among several."""
    doubted: frozenset[str] = frozenset()
    """Rules that something in it may speak against, in ways that are not followed."""
    of_class: str = ""
    """The class whose method it is."""
    freezing: Callable[[], bool] = bool
    """Whether something is frozen, and nobody knows what: of few roots somebody asks."""

    apart: frozenset[str] = frozenset()
    """Nets of several optimizers that are made in sight, hold no other, and go to nobody else."""
    module: Module | None = None
    """The file that it stands in."""

    @property
    def freezes(self) -> bool:
        """Is something frozen, and nobody knows what?"""
        return self.freezing()


class Walk(Frameworks):
    """A walk through one root."""

    def __init__(
        self,
        project: Project,
        module: Module,
        known: Knowledge,
    ) -> None:
        super().__init__(project, module)
        self.known = known

    def call_root(self, function: FunctionDef, node: ast.AST) -> None:
        """Calls what nobody calls in sight; and what that gives, for each batch, if it trains."""
        given = self.call_function(function, Arguments(), node, root=True)
        if isinstance(given, FunctionDef) and all(
            given.module.says(words, given.node) for words in (DEPOSITS, STEPS)
        ):
            self.repeat(given, node, root=True)


class Roots:
    """The roots of a file, and what in it others may begin with."""

    def __init__(self, project: Project, module: Module) -> None:
        self._project = project
        self._module = module
        self._known = Knowledge()
        self._left = MOST_IN_A_FILE
        self._work_left = MOST_WORK_IN_A_FILE
        self._done: set[int] = set()
        self._trained: set[int] = set()
        """Functions on the way through which something was deposited and spent."""
        self._made: dict[int, dict[str, Any]] = {}
        """By class, what is known once its `__init__` has run."""
        self._top = self._walk()

    def _walk(self) -> Walk:
        return Walk(self._project, self._module, self._known)

    def all(self) -> Iterator[Root]:
        """The script, then functions, then methods."""
        yield self._script()
        yield from self._functions()
        for statement in list(self._module.definitions.values()):
            if isinstance(statement, ast.ClassDef):
                yield from self._methods(ClassDef(statement, self._module))

    def goes_round(self) -> bool:
        """Does a loop of the file call what deposits or spends, in whatever file?

        What is called once is followed where it stands.
        """
        module, top = self._module, self._top
        loops = [n for n in ast.walk(module.tree) if isinstance(n, ast.For | ast.While)]
        if not loops:
            return False
        own = (d for d in module.definitions.values() if isinstance(d, ast.ClassDef))
        classes = [*(ClassDef(d, module) for d in own), *top.classes_made(module)]
        return any(
            top.spends(function) or top.makes_deposits(function)
            for loop in loops
            for function in top.called_in(module, [loop], classes)
        )

    def training(self) -> tuple[str, ...]:
        """The names at the top level behind which gradients are deposited and spent."""
        return tuple(name for name, d in self._module.definitions.items() if self._trains(d))

    def _trains(self, definition: object) -> bool:
        match definition:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return id(definition) in self._trained
            case ast.ClassDef():
                says = partial(self._module.says, node=definition)
                # Or in several methods, each of which does its part.
                return any(id(method) in self._trained for method in definition.body) or (
                    says(BACKWARDS) and says(STEPS_ITS_OWN)
                )
        return False

    def _script(self) -> Root:
        walk = self._top
        if not self._worth_walking():
            return Root(THE_SCRIPT, walk.at(self._module.tree), NOTHING, {}, {}, ())

        def write() -> None:
            if not self._module.cells:
                walk.run(self._module.tree.body)
                return
            for statements in _by_cell(self._module):
                # Who goes on to another cell may leave behind what the last one computed.
                walk.excuse(statements[0])
                walk.run(statements)

        return self._followed(walk, THE_SCRIPT, self._module.tree, write)

    def _worth_walking(self) -> bool:
        """Does the top level make anything that matters, itself or by what it calls?"""
        inside = [
            statement
            for statement in self._module.tree.body
            if not isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
        ]
        says = self._module.says
        if any(says(MAKES, statement) or says(DEPOSITS, statement) for statement in inside):
            return True
        return any(map(self._is_worth_it, self._top.called_in(self._module, inside)))

    def _is_worth_it(self, function: FunctionDef) -> bool:
        """Does it deposit and spend, or is it told by its words that it might?"""
        if _makes_and_clears(function):
            return True
        return self._top.keeps_cycle(function) and self._top.may_deposit(function)

    def _functions(self) -> Iterator[Root]:
        functions = [
            d
            for d in list(self._module.definitions.values())
            if isinstance(d, ast.FunctionDef | ast.AsyncFunctionDef)
            and self._is_worth_it(FunctionDef(d, self._module, ""))
        ]
        if len(functions) > 1:
            counts = Counter(re.findall(r"\w+", self._module.source))
            functions.sort(key=lambda f: counts[f.name])
        for node in functions:
            if id(node) not in self._done:
                yield self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Root:
        walk = self._after_script()
        function = FunctionDef(node, self._module, "")

        def write() -> None:
            walk.call_root(function, node)

        return self._followed(walk, f"{node.name}()", node, write)

    def _methods(self, cls: ClassDef) -> Iterator[Root]:
        walk = self._top
        found: dict[str, FunctionDef] = {}
        for owner in reversed(walk.lineage(cls)):
            for statement in owner.node.body:
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                    found[statement.name] = FunctionDef(
                        statement, owner.module, walk.module_scope(owner.module), None, owner
                    )
        hooks = {"training_step", "compute_loss"} & found.keys()
        if not hooks and not any(self._may_train(f, cls) for f in found.values()):
            return
        texts = {name: f.module.text(f.node) for name, f in found.items()}
        called = Counter(re.findall(r"self\.(\w+)\(", "\n".join(texts.values())))
        order = sorted(
            (name for name in found if name not in ("__init__", "configure_optimizers")),
            key=called.__getitem__,
        )
        for name in order:
            method = found[name]
            inherited = method.module is not self._module
            if inherited and not _overridden_calls(texts[name], cls):
                continue  # the file of the base is the place to say it
            if not inherited and id(method.node) in self._done:
                continue
            if name in hooks or walk.keeps_cycle(replace(method, bound=Thing("self", cls=cls))):
                yield self._method(cls, method, name)

    def _may_train(self, method: FunctionDef, cls: ClassDef) -> bool:
        """Does it say something of gradients, or call what does, in other files too?"""
        if method.module.says(DOES, method.node):
            return True
        return bool(self._module.made) and self._top.spends(
            replace(method, bound=Thing("self", cls=cls))
        )

    def _method(self, cls: ClassDef, method: FunctionDef, name: str) -> Root:
        walk = self._after_script()
        thing = Thing("self", cls=cls)
        walk.store["self"] = thing

        def write() -> None:
            self._make(walk, thing, cls)
            for unset in set_by_others(walk, cls, name):
                del walk.store[f"self.{unset}"]
            bound = replace(method, bound=thing)
            if name == "training_step" and walk.is_lightning(thing):
                walk.repeat(
                    bound,
                    method.node,
                    counter=_batch_index(method.node),
                    rounds=self._batches_fitted(),
                    root=True,
                )
            else:
                walk.call_root(bound, method.node)

        root = self._followed(walk, f"{cls.node.name}.{name}()", method.node, write)
        return replace(root, of_class=cls.node.name)

    def _make(self, walk: Walk, thing: Thing, cls: ClassDef) -> None:
        """Makes the object that a method is called on; for all methods of a class, once."""
        made = self._made.get(id(cls.node))
        if made is not None:
            walk.go_on_from(made)
            return
        outer, walk.out = walk.out, []
        init = walk.method(cls, "__init__")
        if init is not None:
            bound = replace(init, bound=thing)
            walk.call_function(bound, Arguments(), init.node, root=True)
        walk.out = outer
        _come_from_outside(walk)
        self._made[id(cls.node)] = walk.knows()

    def _batches_fitted(self) -> int | None:
        """How many batches the loader has that a Trainer is given, if that stands in the source."""
        for names in re.findall(r"\.fit\(([^()]*(?:\(\))?[^()]*)\)", self._module.source):
            for name in re.findall(r"\w+", names):
                value = self._top.store.get(name)
                if isinstance(value, Thing) and value.shape:
                    return value.shape[0]
        return None

    def _after_script(self) -> Walk:
        """A walk that knows what the script has made; what it did to it is past."""
        walk = self._walk()
        walk.store = dict(self._top.store)
        walk.scopes.update({id: scope for id, scope in self._top.scopes.items() if id != ""})
        walk._scope_count = self._top._scope_count
        walk.optimizers = dict(self._top.optimizers)
        _come_from_outside(walk)
        return walk

    def _followed(self, walk: Walk, what: str, node: ast.AST, write: Callable[[], None]) -> Root:
        at = walk.at(node)
        why = ""
        walk.most_statements = min(walk.most_statements, self._left)
        walk.most_work = min(walk.most_work, self._work_left)
        program: Program | None = None
        try:
            program = walk.block(write)
        except TooMuchCode as error:
            why = str(error)
            # Behind its other roots there is likely the same: one more try, half as far.
            self._left = min(self._left, walk.statements + MOST_STATEMENTS // 2)
            self._work_left = min(self._work_left, walk.work + MOST_WORK // 2)
        except RecursionError:
            why = "it is nested too deeply"
        self._done |= walk.inlined
        if program is not None and holds(program, Deposits) and holds(program, Spends):
            self._trained |= walk.inlined
        self._left = max(self._left - walk.statements, 0)
        self._work_left = max(self._work_left - walk.work, 0)
        if walk.hooked:
            program, why = None, "hooks get hold of each gradient as it arrives"
        strays = frozenset(key for key in walk.made if _only_called(walk, key))
        contents = _contents(walk)
        return Root(
            what,
            at,
            program,
            walk.optimizers,
            walk.condition_names,
            tuple(walk.unknown),
            why,
            strays,
            contents,
            frozenset(walk.uncounted),
            frozenset(walk.deferred),
            frozenset(walk.doubted),
            apart=_apart(walk, contents),
            module=self._module,
            freezing=bool
            if _known_frozen(walk)
            else cache(partial(freezes, self._module, node, frozenset(walk.inlined))),
        )


def _makes_and_clears(function: FunctionDef) -> bool:
    """Does it make an optimizer, deposit and clear? Then it should step, too."""
    return all(function.module.says(said, function.node) for said in (BACKWARDS, CLEARS, MADE))


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


def _contents(walk: Walk) -> dict[str, frozenset[str]]:
    """What each object holds under another name than its own."""
    contents: dict[str, set[str]] = {}
    for name, value in walk.store.items():
        if not isinstance(value, Thing) or value.plain or not value.key:
            continue
        owner, dot, _ = name.rpartition(".")
        if dot and value.key != name:
            contents.setdefault(owner, set()).add(value.key)
    return {owner: frozenset(held) for owner, held in contents.items()}


def _apart(walk: Walk, contents: dict[str, frozenset[str]]) -> frozenset[str]:
    """The nets of optimizers that the code makes itself, out of no other net, and for nobody."""
    if len(walk.optimizers) < 2:
        return frozenset()
    held = {key for optimizer in walk.optimizers.values() for key in optimizer.keys or ()}
    return frozenset(
        key
        for key in held
        if isinstance(net := walk.store.get(key), Thing)
        and (net.cls is not None or net.built.startswith("torch.nn."))
        and not (net.reach | net.maybe | contents.get(key, frozenset())) - {key}
        and key.rpartition(":")[2] in _all_only_called(walk)
    )


def _only_called(walk: Walk, key: str) -> bool:
    """Does the file call this model, and nothing else that could train it?"""
    name = key.rpartition(":")[2]
    if not name.isidentifier():
        return False
    other_uses = walk.uses().of(name) - {"train"}
    if other_uses <= {"parameters", "state_dict", "load_state_dict", "eval"} and other_uses:
        return name in _all_only_called(walk) and name in followers(walk.scope.module.tree)
    return not other_uses and name in _all_only_called(walk)


def _all_only_called(walk: Walk) -> frozenset[str]:
    tree = walk.scope.module.tree
    known = walk.known.only_called.get(id(tree))
    if known is None:
        known = walk.known.only_called[id(tree)] = only_called(tree)
    return known


def _known_frozen(walk: Walk) -> bool:
    """Was one of the nets that somebody trains ever frozen?"""
    held = [key for optimizer in walk.optimizers.values() for key in optimizer.keys or ()]
    return any(within(key, k) or within(k, key) for key in walk.ever_frozen for k in held)


def _come_from_outside(walk: Walk) -> None:
    """What was made before is as it was left: nobody knows by whom."""
    for name, optimizer in list(walk.optimizers.items()):
        walk.optimizers[name] = replace(optimizer, outside=True)
    for name, value in list(walk.store.items()):
        if isinstance(value, Optimizer):
            walk.store[name] = replace(value, outside=True)


def _overridden_calls(text: str, cls: ClassDef) -> bool:
    """Does an inherited method call what this class defines?"""
    own = {s.name for s in cls.node.body if isinstance(s, ast.FunctionDef)}
    return any(f"self.{name}(" in text for name in own)
