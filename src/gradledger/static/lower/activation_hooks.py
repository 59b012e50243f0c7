"""Hooks on activations that a model's own forward registers, and who asks for what they heard."""

from __future__ import annotations

import re

from gradledger.static.domain.values import FunctionDef
from gradledger.static.project.module import Module
from gradledger.static.source.patterns import Pattern

OWN_HOOK = Pattern(r"\.register_hook\(\s*(self\.(\w+)\s*\)|lambda[^\r\n]*self\.)")
GRADIENT = Pattern(r"\._?grad\b", words=(".grad", "._grad"))
MEMBER = Pattern(r"\bself\.(\w+)")


def asks_for_what_was_heard(forward: FunctionDef, module: Module) -> bool:
    """May code of this module use gradients that hooks of a model's forward have put aside?

    Where nobody can tell what the hooks do, it may.
    """
    if forward.cls is None:
        return True
    own, node = forward.module, forward.cls.node
    hooks = list(OWN_HOOK.finditer(own.text(forward.node)))
    text, methods = own.text(node), own.methods(node)
    if len(hooks) != own.text(forward.node).count("register_") or GRADIENT.search(text):
        return True
    heard: set[str] = set()
    for hook in hooks:
        listener = methods.get(hook[2] or "")
        if listener is None:
            return True
        heard |= set(MEMBER.findall(own.text(listener)))
    for name, method in methods.items():
        if name not in ("__init__", "forward") and heard & set(MEMBER.findall(own.text(method))):
            heard = heard | {name}
    around = module.source.replace(text, "") if module is own else module.source
    return any(re.search(rf"\.{name}\b", around) for name in heard)
