"""The pages of the Python API, from signatures and docstrings. Nothing is imported for them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import griffe

import gradledger
from website.layout import ROOT

SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "stepper",
        "Stepper",
        (
            "gradledger.engine.stepper.Stepper",
            "gradledger.engine.passes.Pass",
            "gradledger.engine.plan.Plan",
            "gradledger.engine.skips.Skip",
        ),
    ),
    (
        "audit",
        "Auditing and testing",
        (
            "gradledger.runtime.audit.audit",
            "gradledger.runtime.audit.Audit",
            "gradledger.runtime.window_equality.assertion.assert_window_equals_batch",
        ),
    ),
    (
        "integrations",
        "Integrations",
        (
            "gradledger.integrations.accelerate.ledger",
            "gradledger.integrations.fabric.ledger",
            "gradledger.integrations.ignite.ledger",
        ),
    ),
    (
        "ledger",
        "The ledger",
        (
            "gradledger.ledger.book.Book",
            "gradledger.ledger.page.Page",
            "gradledger.ledger.cells.Cell",
            "gradledger.ledger.findings.Finding",
            "gradledger.ledger.places.Place",
            "gradledger.rules.rule.Rule",
            "gradledger.recording.recording.Recording",
        ),
    ),
)
"""A page each: its file, its title, and what is on it."""

_ARGUMENT = re.compile(r"([a-z_]+): (?=\S)")


def pages() -> dict[str, str]:
    """`reference/api/…`."""
    package = griffe.load("gradledger", search_paths=[str(ROOT / "src")])
    found = {}
    for name, title, paths in SECTIONS:
        parts = [f"# {title}"]
        for path in paths:
            parts += _described(package[path.removeprefix("gradledger.")], path)
        found[f"reference/api/{name}.md"] = "\n\n".join(parts) + "\n"
    found["reference/api/errors.md"] = "\n\n".join(_errors(package["errors"])) + "\n"
    found["reference/api/events.md"] = "\n\n".join(_events(package["ledger.events"])) + "\n"
    return found


def _described(thing: Any, path: str) -> Iterator[str]:
    if thing.is_alias:
        thing = thing.final_target
    yield f"## {thing.name}"
    module = "gradledger" if thing.name in gradledger.__all__ else path.rpartition(".")[0]
    yield f"```python\nfrom {module} import {thing.name}\n```"
    if thing.is_function:
        yield f"```python\n{_signature(thing)}\n```"
        yield _text(thing)
        return
    if "__init__" in thing.members:
        yield f"```python\n{_signature(thing.members['__init__'], name=thing.name)}\n```"
    yield _text(thing)
    for name, member in thing.members.items():
        if name.startswith("_") or member.is_alias or not member.has_docstring:
            continue
        if member.is_function:
            yield f"### {name}"
            yield f"```python\n{_signature(member)}\n```"
        else:
            kind = f": `{member.annotation}`" if member.annotation else ""
            yield f"### {name}"
            yield f"`{thing.name}.{name}`{kind}"
        yield _text(member)


def _errors(module: Any) -> Iterator[str]:
    yield "# Errors"
    yield (
        "All of them are in `gradledger`, and all but `InternalError` and `StepperWarning` are a "
        "`GradledgerError`."
    )
    for name, thing in module.members.items():
        if not thing.is_alias and thing.is_class and not name.startswith("_"):
            bases = ", ".join(f"`{base}`" for base in thing.bases)
            yield f"## {name}"
            yield f"Derived from {bases}."
            yield _text(thing)


def _events(module: Any) -> Iterator[str]:
    yield "# Events"
    yield _text(module)
    for name, thing in module.members.items():
        if thing.is_alias or not (thing.is_class and thing.has_docstring):
            continue
        yield f"## {name}"
        yield _text(thing)
        fields = [m for m in thing.members.values() if m.is_attribute and m.annotation]
        if fields:
            rows = [f"| `{m.name}` | `{_cell(m.annotation)}` | {_cell(_text(m))} |" for m in fields]
            yield "\n".join(["| field | type | |", "| --- | --- | --- |", *rows])


def _text(thing: Any) -> str:
    """Its docstring; a paragraph of `name: what it is` lines becomes a list."""
    if not thing.has_docstring:
        return ""
    paragraphs = inspect.cleandoc(thing.docstring.value).split("\n\n")
    return "\n\n".join(_listed(p) if _ARGUMENT.match(p) else p for p in paragraphs)


def _listed(paragraph: str) -> str:
    lines = (_ARGUMENT.sub(r"- `\1`: ", line) for line in paragraph.splitlines())
    return "\n".join(line if line.startswith("- ") else f"  {line.strip()}" for line in lines)


def _cell(text: object) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")


def _signature(function: Any, *, name: str = "") -> str:
    """On one line if it fits there, else a line for each parameter."""
    pieces: list[str] = []
    starred = False
    for parameter in function.parameters:
        if parameter.name in {"self", "cls"} or str(parameter.annotation) == "Never":
            continue
        kind = parameter.kind.value if parameter.kind else ""
        if kind == "keyword-only" and not starred:
            starred = True
            pieces.append("*")
        stars = {"variadic positional": "*", "variadic keyword": "**"}.get(kind, "")
        starred = starred or kind == "variadic positional"
        piece = (
            stars + parameter.name + (f": {parameter.annotation}" if parameter.annotation else "")
        )
        default = "" if stars or parameter.default is None else f" = {parameter.default}"
        pieces.append(piece + default)
    result = f" -> {function.returns}" if function.returns and not name else ""
    line = f"{name or function.name}({', '.join(pieces)}){result}"
    if len(line) <= 88:
        return line
    return f"{name or function.name}(\n    " + ",\n    ".join(pieces) + f",\n){result}"
