"""A root: a piece of code that was followed, and all that is known of it then."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from gradledger.ledger.places import Place
from gradledger.ledger.values import Value
from gradledger.static.domain.values import Optimizer, Places, Thing
from gradledger.static.ir.blocks import holds
from gradledger.static.ir.effects import Deposits, Spends
from gradledger.static.ir.keys import within
from gradledger.static.ir.program import Program
from gradledger.static.lower.scope_names import file_uses
from gradledger.static.project.module import Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

THE_SCRIPT = "the script"

WALKS = Pattern(r"backward|autograd|\bgrad\b|closure|vjp|jvp|and_grad|functorch")
"""Words of code that may fill gradients, in whatever way."""


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
    unwalked: frozenset[str] = frozenset()
    """Optimizers of nets that compute something, which nobody in sight ever walks back from."""
    only_shown: Places = frozenset()
    """Sums of losses whose graphs are surely recorded, and surely never walked."""

    @property
    def freezes(self) -> bool:
        """Is something frozen, and nobody knows what?"""
        return self.freezing()


def root_of(machine: Machine, what: str, node: ast.AST, program: Program | None, why: str) -> Root:
    """What a walk knows at its end of the code that it began with."""
    module = machine.context.scope.module
    contents = _contents(machine)
    return Root(
        what,
        machine.at(node),
        program,
        machine.log.optimizers,
        machine.log.condition_names,
        tuple(machine.log.unknown),
        why,
        _strays(machine),
        contents,
        frozenset(machine.log.uncounted),
        frozenset(machine.log.deferred),
        frozenset(machine.log.doubted),
        apart=_apart(machine, contents),
        module=module,
        unwalked=_unwalked(machine, program),
        only_shown=_only_shown(machine, program),
        freezing=bool if _known_frozen(machine) else _freezing(module, node, machine.log.inlined),
    )


def _strays(machine: Machine) -> frozenset[str]:
    """Models that are called, and that no optimizer has."""
    called = frozenset(key for key in machine.log.made if _only_called(machine, key))
    own = any(isinstance(net, Thing) and net.cls is not None for net in machine.flow.store.values())
    if not machine.log.optimizers or not own:
        return called | _left_out(machine)
    from gradledger.static.lower.unowned_modules import never_owned
    from gradledger.static.lower.untrained_attributes import held_untrained, is_like_an_owned

    alike = frozenset(
        net.key
        for name, net in machine.flow.store.items()
        if isinstance(net, Thing) and net.cls is not None and not net.plain
        if is_like_an_owned(machine, net) and _only_called(machine, name)
    )
    return called.union(alike, _left_out(machine), held_untrained(machine), never_owned(machine))


def _only_shown(machine: Machine, program: Program | None) -> Places:
    if program is None or not machine.log.recorded:
        return frozenset()
    from gradledger.static.lower.logged_losses import only_shown

    return only_shown(machine, program)


def _unwalked(machine: Machine, program: Program | None) -> frozenset[str]:
    if program is None or not holds(program, Spends) or holds(program, Deposits):
        return frozenset()
    if any(map(_may_walk, {scope.module for scope in machine.log.scopes.values()})):
        return frozenset()
    things = [
        t for t in machine.flow.store.values() if isinstance(t, Thing) and t.sure and not t.plain
    ]
    computed = frozenset().union(*(thing.reach for thing in things)) - machine.log.given_away
    return frozenset(
        name
        for name, optimizer in machine.log.optimizers.items()
        if optimizer.torchs and not optimizer.outside
        if optimizer.keys and optimizer.keys <= computed
    )


def _may_walk(module: Module) -> bool:
    """Does something in its code, comments aside, have a name of those who fill gradients?"""
    return module.says_anywhere(WALKS) and any(
        WALKS.search(
            getattr(node, "attr", "") or getattr(node, "id", "") or getattr(node, "name", "")
        )
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute | ast.Name | ast.FunctionDef | ast.ClassDef | ast.alias)
    )


def _contents(machine: Machine) -> dict[str, frozenset[str]]:
    """What each object holds under another name than its own."""
    contents: dict[str, set[str]] = {}
    for name, value in machine.flow.store.items():
        if not isinstance(value, Thing) or value.plain or not value.key:
            continue
        owner, dot, _ = name.rpartition(".")
        if dot and value.key != name:
            contents.setdefault(owner, set()).add(value.key)
    return {owner: frozenset(held) for owner, held in contents.items()}


def _apart(machine: Machine, contents: dict[str, frozenset[str]]) -> frozenset[str]:
    """The nets of optimizers that the code makes itself, out of no other net, and for nobody."""
    if len(machine.log.optimizers) < 2:
        return frozenset()
    held = {key for optimizer in machine.log.optimizers.values() for key in optimizer.keys or ()}
    return frozenset(
        key
        for key in held
        if isinstance(net := machine.flow.store.get(key), Thing)
        and (net.cls is not None or net.built.startswith("torch.nn."))
        and not (net.reach | net.maybe | contents.get(key, frozenset())) - {key}
        and key.rpartition(":")[2] in _all_only_called(machine)
    )


def _only_called(machine: Machine, key: str) -> bool:
    """Does the file call this model, and nothing else that could train it?"""
    name = key.rpartition(":")[2]
    if not name.isidentifier():
        return False
    other_uses = file_uses(machine).of(name) - {"train"}
    if other_uses and not other_uses <= {"parameters", "state_dict", "load_state_dict", "eval"}:
        return False
    if name not in _all_only_called(machine):
        return False
    return not other_uses or _follows(machine, name)


def _left_out(machine: Machine) -> frozenset[str]:
    """Layers in plain lists of the nets that optimizers have, and that these know nothing of."""
    left_out: set[str] = set()
    modules = {scope.module for scope in machine.log.scopes.values()}
    for key, names in machine.log.unlisted.items():
        net = machine.flow.store.get(key)
        owned = any(key in (o.keys or ()) for o in machine.log.optimizers.values())
        if not owned or not isinstance(net, Thing) or net.cls is None:
            continue
        others = [m.source for m in modules if m is not net.cls.module]
        for name in names:
            if not any(f".{name}" in text for text in others):
                left_out.add(f"{key}'s {name}")
    return frozenset(left_out)


def _follows(machine: Machine, name: str) -> bool:
    """Is all that changes the model what another one's parameters are?"""
    from gradledger.static.lower.untrained_modules import followers

    return name in followers(machine.context.scope.module.tree)


def _all_only_called(machine: Machine) -> frozenset[str]:
    tree = machine.context.scope.module.tree
    known = machine.known.only_called.get(id(tree))
    if known is None:
        from gradledger.static.lower.untrained_modules import only_called

        known = machine.known.only_called[id(tree)] = only_called(tree)
    return known


def _known_frozen(machine: Machine) -> bool:
    """Was one of the nets that somebody trains ever frozen?"""
    held = [key for optimizer in machine.log.optimizers.values() for key in optimizer.keys or ()]
    return any(within(key, k) or within(k, key) for key in machine.log.ever_frozen for k in held)


def _freezing(module: Module, node: ast.AST, inlined: set[int]) -> Callable[[], bool]:
    followed = frozenset(inlined)

    def asked() -> bool:
        from gradledger.static.lower.freezing import freezes

        return freezes(module, node, followed)

    return cache(asked)
