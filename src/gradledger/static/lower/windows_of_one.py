"""Windows of one micro-batch: a size that is 1 in the source is an option, and may be set higher.

Taken for the number 1, such a size would hide what goes wrong for whoever raises it.
"""

from __future__ import annotations

from gradledger.static.domain.values import Constant, Known, Thing
from gradledger.static.project.module import Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

ONE = Constant.of(1)


def as_option(machine: Machine, name: str, value: Known, key: str) -> Known:
    """The value of a name, attribute or item; not known where it is 1 and the size of windows.

    `key` is where it is kept. What was counted, and what a caller hands over, is what it is.
    """
    if value != ONE:
        return value
    module = machine.context.scope.module
    is_option = _is_size(name, module) and 1 in settings_of(module).get(name, ())
    return Thing(key, plain=True) if is_option else value


def attribute_as_option(machine: Machine, node: ast.Attribute, owner: Known, value: Known) -> Known:
    """The same of an attribute."""
    if value != ONE:
        return value
    of = owner.key if isinstance(owner, Thing) and owner.key else ast.unparse(node.value)
    return as_option(machine, node.attr, value, f"{of}.{node.attr}")


def settings_of(module: Module) -> dict[str, set[object]]:
    """What the file sets names to."""
    if module.settings is None:
        from gradledger.static.lower.window_sizes import settings

        module.settings = settings(module.tree)
    return module.settings


def _is_size(name: str, module: Module) -> bool:
    """Whether the file divides by this and looks at the rest: `i % name`, `i % args.name`."""
    return module.says_in_text(rf"%\s*\(?(?:[A-Za-z_][\w.]*[.\[][\"']?)?{literal(name)}\b")
