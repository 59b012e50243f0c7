"""A check in a sentence: what was found, what was looked at, and what is not known."""

from __future__ import annotations

from gradledger.report.counts import counted
from gradledger.report.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gradledger.report.inspection import Inspection
    from gradledger.report.terminal import Line, Terminal

NAMED = 6
"""So many rules are named to read on about, the worst first."""


def unknown(inspection: Inspection) -> Iterator[Line]:
    """A row for each piece of code that could not be followed, and why."""
    from gradledger.report.paths import shown

    for one in inspection.unknown:
        place = visible(f"{shown(one.path)}:{one.line}")
        why = visible(f"{one.what}: {one.why}")
        yield ((place, "title"), ": ", ("unknown", "info"), f": {why}")


def lines(inspection: Inspection, terminal: Terminal) -> Iterator[Line]:
    """A calm end, which never calls clean what was not followed."""
    if not _anything(inspection):
        yield from terminal.prose(_nothing(inspection), lead="Nothing to check:", indent=0)
    elif inspection.findings:
        yield from _found(inspection)
    else:
        yield from _clean(inspection)
    if aside := _aside(inspection):
        yield from terminal.prose(f"{aside}.")
    if inspection.findings:
        from gradledger.rules.ordering import ordered

        codes = list(dict.fromkeys(finding.rule for finding in ordered(inspection.findings)))
        yield ("  To read on: ", (f"gradledger rule {' '.join(codes[:NAMED])}", "code"))


def sentence(inspection: Inspection, terminal: Terminal) -> Iterator[Line]:
    """The first of those lines alone."""
    for line in lines(inspection, terminal):
        yield line
        return


def _found(inspection: Inspection) -> Iterator[Line]:
    from collections import Counter

    from gradledger.report.balance import balance, worst
    from gradledger.rules.ordering import WORST_FIRST, severity

    level = worst(inspection)
    assert level is not None
    judged, style = ("do not balance", level.value)
    if balance(inspection):
        judged, style = ("balance", "cure")
    found = Counter(map(severity, inspection.findings))
    score = ", ".join(counted(found[s], s.value) for s in WORST_FIRST if found[s])
    files = _files(finding.at.path for finding in inspection.findings)
    # A finding may stand in a file that another one imports and nobody named.
    looked_at = counted(max(inspection.files, files), "file")
    yield ((f"The books {judged}", style), f": {score} in {files:,} of {looked_at}.")


def _clean(inspection: Inspection) -> Iterator[Line]:
    files = counted(inspection.files, "file")
    if not inspection.followed:
        yield (("Nothing could be followed", "warning"), f" in {files}.")
    elif inspection.unknown or inspection.not_checked:
        yield (("As far as they could be followed, the books balance", "cure"), f": {files}.")
    else:
        yield (("The books balance", "cure"), f": nothing found in {files}.")


def _anything(inspection: Inspection) -> bool:
    """Are there gradients in it, as far as anybody can tell?"""
    return bool(
        inspection.findings
        or inspection.followed
        or inspection.unknown
        or inspection.not_checked
        or inspection.suppressed
        or inspection.baselined
    )


def _nothing(inspection: Inspection) -> str:
    if not inspection.files:
        return f"there are no Python files and no notebooks in {visible(inspection.subject)}."
    if inspection.files == 1:
        return f"there are no gradients in {visible(inspection.subject)}."
    return f"there are no gradients in any of {counted(inspection.files, 'file')}."


def _aside(inspection: Inspection) -> str:
    """`57 functions followed, 4 unknown (--unknown lists them), 1 finding ignored`."""
    parts = []
    if inspection.followed:
        parts.append(f"{counted(inspection.followed, 'function')} followed")
    if inspection.unknown:
        parts.append(f"{len(inspection.unknown):,} unknown (--unknown lists them)")
    if inspection.not_checked:
        files = _files(left.path for left in inspection.not_checked)
        parts.append(f"{counted(files, 'file')} not checked")
    if inspection.suppressed:
        parts.append(f"{counted(len(inspection.suppressed), 'finding')} ignored by comments")
    if inspection.baselined:
        parts.append(f"{inspection.baselined:,} in the baseline")
    if inspection.unshown:
        parts.append(f"{inspection.unshown:,} possible (--possible shows them)")
    return ", ".join(parts)


def _files(paths: Iterable[str]) -> int:
    """How many these are, where the cells of a notebook are one file."""
    from gradledger.report.paths import cell_of

    return len({cell_of(path)[0] for path in paths})
