"""What is known of the models of a root, worked out for those who ask."""

from __future__ import annotations

from gradledger.static.domain.values import NO_PLACES, Places, Thing
from gradledger.static.ir.keys import NO_KEYS, Keys
from gradledger.static.lower.root import Root
from gradledger.static.lower.scope_names import file_uses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def untrained_models(root: Root) -> Keys:
    """Models that the code makes and calls, and that no optimizer has."""
    return NO_KEYS if root.machine is None else _strays(root.machine)


def copied_nets(root: Root) -> Keys:
    """Deep copies of nets, whose gradients are their own."""
    return NO_KEYS if root.machine is None else frozenset(root.machine.log.copies)


def torchs_losses(root: Root) -> Keys:
    """Losses of torch's: modules that have nothing to train."""
    if root.machine is None:
        return NO_KEYS
    return frozenset(
        thing.key
        for thing in root.machine.flow.store.values()
        if isinstance(thing, Thing)
        and thing.built.startswith("torch.nn.")
        and thing.built.endswith("Loss")
    )


def names_of(root: Root) -> dict[str, str]:
    """What the code calls objects that are known by their class: the first name of each."""
    names: dict[str, str] = {}
    if root.machine is not None:
        for name, value in root.machine.flow.store.items():
            if not isinstance(value, Thing) or value.key == name:
                continue
            if value.key.rpartition("#")[2].isdigit():
                names.setdefault(value.key, name)
    return names


def contents_of(root: Root) -> dict[str, Keys]:
    """For each object, what it holds: a method that is not followed may use any of it."""
    if root.turns:
        return {key: held for turn in root.turns for key, held in contents_of(turn).items()}
    return {} if root.machine is None else _contents(root.machine)


def nets_apart(root: Root) -> Keys:
    """Nets of several optimizers that are made in sight, hold no other, and go to nobody else."""
    return NO_KEYS if root.machine is None else _apart(root.machine, contents_of(root))


def sums_only_shown(root: Root) -> Places:
    """Sums of losses whose graphs are surely recorded, and surely never walked."""
    if root.machine is None or root.program is None or not root.machine.log.recorded:
        return NO_PLACES
    from gradledger.static.lower.logged_losses import only_shown

    return only_shown(root.machine, root.program)


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
