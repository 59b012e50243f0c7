"""Nets that an object holds, and that nobody trains.

Told only where all that the code in sight does with such a net is to make it, to call it, and to
write the data of another one into it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.static.domain.values import ClassDef, Thing
from gradledger.static.lower.attributes import bases_outside, lineage
from gradledger.static.lower.spelling import called_name
from gradledger.static.lower.untrained_modules import MOVES, followers, makes_a_net
from gradledger.static.models.facts import has_parameters
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine
    from gradledger.static.project.module import Module

OTHER_WAYS = Pattern(r"requires_grad|[gs]etattr|__dict__|\bvars\(|\.apply\(|\.modules\(|freeze")
"""Words of code that may freeze a net, or find it by another way than by its name."""

HAS_NO_GRADIENTS = Pattern(r"no_grad|inference_mode|detach|\.data\b|\.item\(|Parameter\(")
"""Words of nets that may leave parameters of theirs without gradients."""

BEGINS = Pattern(r"init|reset")
"""Names of methods that give a net its first weights."""

LOOKS = frozenset({*MOVES, "eval", "state_dict", "load_state_dict"})
"""Methods of a net that neither train nor freeze it."""


def held_untrained(machine: Machine) -> Iterator[str]:
    """The keys of nets in attributes of objects, with which nothing is done that trains them."""
    modules = {scope.module for scope in machine.log.scopes.values()}
    if any(module.says_anywhere(OTHER_WAYS) for module in modules):
        return
    for name, net in machine.flow.store.items():
        owner, dot, attribute = name.rpartition(".")
        holder = machine.flow.store.get(owner) if dot else None
        if not isinstance(net, Thing) or not isinstance(holder, Thing) or holder.cls is None:
            continue
        # What is held by something that comes from out of sight, others may have hold of.
        made_here = "#" in owner and holder.key == owner and not holder.cls.node.bases
        if not made_here or net.plain or not net.key or not _is_net(machine, net):
            continue
        others = (module for module in modules if module is not holder.cls.module)
        if any(f".{attribute}" in module.source for module in others):
            continue
        if _is_only_called(holder.cls.module, attribute):
            yield net.key


def _is_net(machine: Machine, net: Thing) -> bool:
    """Has it surely parameters, all of which get gradients when it is called?"""
    if is_like_an_owned(machine, net):
        return True
    if net.cls is None:
        return has_parameters(net.built)
    is_module = bases_outside(machine, net.cls) == ["torch.nn.Module"]
    return is_module and len(lineage(machine, net.cls)) == 1 and calls_a_layer(net.cls)


def is_like_an_owned(machine: Machine, net: Thing) -> bool:
    """Is it of the same class as a net whose parameters an optimizer has, and is trained?"""
    if net.cls is not None and may_cut_graphs(net.cls):
        return False
    owned = (
        machine.flow.store.get(key) for o in machine.log.optimizers.values() for key in o.keys or ()
    )
    return any(
        isinstance(other, Thing)
        and other.key != net.key
        and (other.cls, other.built) == (net.cls, net.built)
        and (other.cls is not None or other.built)
        for other in owned
    )


def calls_a_layer(cls: ClassDef) -> bool:
    """Does its forward call a layer that it makes, and nothing say that this has no gradients?"""
    methods = cls.module.methods(cls.node)
    init, forward = methods.get("__init__"), methods.get("forward")
    if init is None or forward is None or may_cut_graphs(cls):
        return False
    layers = {
        target.attr
        for node in ast.walk(init)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if has_parameters(ast.unparse(node.value.func).replace("nn.", "torch.nn.", 1))
        for target in node.targets
        if isinstance(target, ast.Attribute)
    }
    called = {
        node.func.attr
        for node in ast.walk(forward)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    return not layers.isdisjoint(called)


def may_cut_graphs(cls: ClassDef) -> bool:
    """Do its methods say so? How its weights begin is not asked: that has no graph anyway."""
    methods = cls.module.methods(cls.node).items()
    later = (method for name, method in methods if not BEGINS.search(name))
    return any(cls.module.says(HAS_NO_GRADIENTS, method) for method in later)


def _is_only_called(module: Module, attribute: str) -> bool:
    """Is what the attribute names in this file made once, called, looked at, and no more?"""
    parents = {
        child: node for node in ast.walk(module.tree) for child in ast.iter_child_nodes(node)
    }
    made = 0
    asked = False
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Attribute) or node.attr != attribute:
            continue
        if not isinstance(node.value, ast.Name):
            return False
        if node.value.id != "self":  # others may copy another one's weights into it, and no more
            match parents[node]:
                case ast.Attribute(attr=name) as method if name in LOOKS:
                    if isinstance(parents[method], ast.Call):
                        continue
            return False
        match parents[node]:
            case ast.Assign(targets=[target], value=value) if target is node:
                made += makes_a_net(value)
            case ast.Tuple(elts=names) as several if isinstance(node.ctx, ast.Store):
                match parents[several]:
                    case ast.Assign(value=ast.Tuple(elts=values)) if len(values) == len(names):
                        made += makes_a_net(values[names.index(node)])
                    case _:
                        return False
            case ast.Call(func=func) if func is node:
                pass
            case ast.Attribute(attr=name) as method if name in LOOKS:
                if not isinstance(parents[method], ast.Call):
                    return False
            case ast.Attribute(attr="parameters"):
                asked = True
            case ast.Call(args=given) as call if node in given:
                if not _is_followed_in(module, call, given.index(node)):
                    return False
            case _:
                return False
    return made == 1 and (not asked or f"self.{attribute}" in followers(module.tree))


def _is_followed_in(module: Module, call: ast.Call, place: int) -> bool:
    """`self.soft_update(net, slow)`: does the function write data into what it is given there?"""
    functions = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef) and node.name == called_name(call)
    ]
    if len(functions) != 1:
        return False
    names = [argument.arg for argument in functions[0].args.args]
    names = names[1:] if names[:1] == ["self"] else names
    if place >= len(names):
        return False
    uses = [n for n in ast.walk(functions[0]) if isinstance(n, ast.Name) and n.id == names[place]]
    return len(uses) == 1 and names[place] in followers(functions[0])
