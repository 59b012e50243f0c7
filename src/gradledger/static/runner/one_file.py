"""Checks the bytes of one file. Whatever is in them, there is a result."""

from __future__ import annotations

from gradledger.static.check import check_source, has_gradients
from gradledger.static.project.project import Project
from gradledger.static.result import IRRELEVANT, Checked, Result, Unknown
from gradledger.static.source.files import Source, Trouble, from_bytes, parse
from gradledger.static.source.parsing import NotPython, tree

_WHOLE = "the whole file"


def check_data(
    path: str, data: bytes, project: Project, *, always: bool = True, calls: bool = False
) -> Result:
    """What the file breaks, with places as people see them.

    Parsed `always`, or only where there is something to follow in it. It `calls` what trains in
    another file, or may do so: then it is followed whatever it says itself.
    """
    source = from_bytes(path, data)
    if isinstance(source, Trouble):
        return Result(troubles=(source,))
    calls = calls and not has_gradients(source)
    if not (always or calls or has_gradients(source)):
        return IRRELEVANT
    troubles: tuple[Trouble, ...] = ()
    parsed = parse(source)
    if isinstance(parsed, Trouble) and source.cells:
        source, troubles = _without_broken_cells(source)
        parsed = parse(source)
    if isinstance(parsed, Trouble):
        return Result(troubles=(*troubles, _as_seen(parsed, source)))
    checked = _followed(source, project, calls=calls)
    if source.cells:
        from gradledger.static.runner.notebook_places import as_seen

        checked = as_seen(checked, source)
    return Result(checked, troubles, calls=calls)


def _followed(source: Source, project: Project, *, calls: bool) -> Checked:
    """What the checker says; a fault of its own is told, and never the end of the run."""
    try:
        return check_source(source, project, calls=True) if calls else check_source(source, project)
    except (RecursionError, MemoryError):
        why = "its code is nested too deeply, or calls itself too often, to be followed"
    except Exception as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        why = f"gradledger has a bug: {told}. Please report it"
    return Checked(unknown=(Unknown(source.path, 1, _WHOLE, why),))


def _without_broken_cells(source: Source) -> tuple[Source, tuple[Trouble, ...]]:
    """The notebook without the cells that are no Python, and what is wrong with each of these."""
    lines = source.text.split("\n")
    troubles = []
    for cell in source.cells:
        own = slice(cell.start - 1, cell.start - 1 + cell.lines)
        try:
            tree("\n".join(lines[own]), source.path)
        except NotPython as error:
            at = cell.start + max(error.line, 1) - 1
            troubles.append(_as_seen(Trouble(source.path, at, error.message), source))
            lines[own] = [""] * cell.lines
    return Source(source.path, "\n".join(lines), source.cells), tuple(troubles)


def _as_seen(trouble: Trouble, source: Source) -> Trouble:
    from gradledger.static.runner.notebook_places import trouble_as_seen

    return trouble_as_seen(trouble, source)
