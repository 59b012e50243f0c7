"""The public API: a change of a name or of a signature is a change of the snapshot."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from syrupy.assertion import SnapshotAssertion

import gradledger

RETURNED = (
    ("gradledger.engine.passes", "Pass"),
    ("gradledger.engine.plan", "Plan"),
    ("gradledger.engine.skips", "Skip"),
    ("gradledger.runtime.audit", "Audit"),
)
"""What a user gets from the exported names, and doesn't make."""
PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")


def test_the_signatures_of_all_exported_names_are_these(snapshot: SnapshotAssertion) -> None:
    named = ((name, getattr(gradledger, name)) for name in sorted(gradledger.__all__))
    assert "\n".join(line for name, value in named for line in _described(name, value)) == snapshot


def test_what_they_return_has_these_members(snapshot: SnapshotAssertion) -> None:
    lines = []
    for module, name in RETURNED:
        own = vars(getattr(import_module(module), name))
        fields = {key: f"{key}: {kind}" for key, kind in own.get("__annotations__", {}).items()}
        members = fields | {
            key: _member(key, value) for key, value in own.items() if key not in fields
        }
        lines += [name, *(f"    {members[key]}" for key in sorted(members) if key[0] != "_")]
    assert "\n".join(lines) == snapshot


def test_the_page_lists_every_exported_name_and_no_other() -> None:
    table = PAGE.partition("## Names")[2].partition("\n## ")[0]
    listed = re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| ([^|]*) \|", table, re.M)))
    assert sorted(listed) == sorted(gradledger.__all__)


def _described(name: str, value: Any) -> Iterator[str]:
    """The name with its signature, then, for a class, what it derives from and what it has."""
    if not callable(value):
        yield f"{name}: {type(value).__name__}"
    elif not inspect.isclass(value):
        yield f"def {name}{_signature(value)}"
    else:
        yield f"class {name}({', '.join(base.__name__ for base in value.__bases__)})"
        own = dict(vars(value))
        if "__init__" in own:
            yield f"    def __init__{_signature(value.__init__)}"
        for member in sorted(member for member in own if not member.startswith("_")):
            yield f"    {_member(member, own[member])}"


def _member(name: str, member: Any) -> str:
    if isinstance(member, property):
        returned = inspect.signature(member.fget).return_annotation  # type: ignore[arg-type]
        return f"{name}: {returned}" + (" (can be set)" if member.fset else "")
    if isinstance(member, classmethod | staticmethod):
        return f"{type(member).__name__} def {name}{_signature(member.__func__)}"
    return f"def {name}{_signature(member)}" if callable(member) else name


def _signature(function: Any) -> str:
    """As it is written. Python's own text of a signature is another in each version."""
    parts, star = [], False
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        star = star or parameter.kind is parameter.VAR_POSITIONAL
        stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
        text = stars + parameter.name
        if parameter.annotation is not parameter.empty:
            text += f": {parameter.annotation}"
        if parameter.default is not parameter.empty:
            text += f" = {parameter.default!r}"
        parts.append(text)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            parts[-1] += " (by position)"
    returned = signature.return_annotation
    arrow = "" if returned is signature.empty else f" -> {returned}"
    return f"({', '.join(parts)}){arrow}"
