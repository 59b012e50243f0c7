"""A check in one sentence: what was found, what was checked, and what is unknown."""

from __future__ import annotations

from gradledger.report.counts import counted
from gradledger.report.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gradledger.report.inspection import Inspection
    from gradledger.report.terminal import Line, Terminal

NAMED = 6
"""Up to this many rules are named for further reading, the worst first."""

REASONS = 2
"""Up to this many reasons are given why code was not followed, the most frequent first."""

AS_FAR_AS_SEEN = "No fault found in what was followed"
"""The words used when not everything was followed, or not everything is shown."""


def unknown(inspection: Inspection) -> Iterator[Line]:
    """A row for each piece of code that could not be followed, and why."""
    from gradledger.report.paths import shown

    for one in inspection.unknown:
        place = visible(f"{shown(one.path)}:{one.line}")
        why = visible(f"{one.what}: {one.why}")
        yield ((place, "title"), ": ", ("unknown", "info"), f": {why}")


def lines(inspection: Inspection, terminal: Terminal) -> Iterator[Line]:
    """The end of the text. Code that was not followed is never called clean."""
    if not _anything(inspection):
        yield from terminal.prose(_nothing(inspection), lead="Nothing to check:", indent=0)
    elif inspection.findings:
        yield from _found(inspection)
    else:
        yield from _clean(inspection)
    for aside in _asides(inspection):
        yield from terminal.prose(f"{aside}.")
    if inspection.findings:
        from gradledger.rules.ordering import ordered

        codes = list(dict.fromkeys(finding.rule for finding in ordered(inspection.findings)))
        yield ("  To read on: ", (f"gradledger rule {' '.join(codes[:NAMED])}", "code"))


def sentence(inspection: Inspection, terminal: Terminal) -> Iterator[Line]:
    """Only the first of those lines."""
    for line in lines(inspection, terminal):
        yield line
        return


def _found(inspection: Inspection) -> Iterator[Line]:
    from collections import Counter

    from gradledger.report.balance import balance, faultless, worst
    from gradledger.rules.ordering import WORST_FIRST, severity

    level = worst(inspection)
    assert level is not None
    judged, style = ("The books do not balance", level.value)
    if balance(inspection):
        judged, style = ("The books balance", "cure")
    elif faultless(inspection):
        judged, style = (AS_FAR_AS_SEEN, "info")
    found = Counter(map(severity, inspection.findings))
    score = ", ".join(counted(found[s], s.value) for s in WORST_FIRST if found[s])
    files = _files(finding.at.path for finding in inspection.findings)
    # A finding may be in a file that wasn't named, but is imported by one that was.
    looked_at = counted(max(inspection.files, files), "file")
    yield ((judged, style), f": {score} in {files:,} of {looked_at}.")


def _clean(inspection: Inspection) -> Iterator[Line]:
    from gradledger.report.balance import left_open

    files = counted(inspection.files, "file")
    if not inspection.followed and (inspection.unknown or inspection.not_checked):
        yield (("Nothing could be followed to its end", "warning"), f" in {files}.")
    elif left_open(inspection):
        yield ((AS_FAR_AS_SEEN, "info"), f": {files}.")
    else:
        yield (("The books balance", "cure"), f": nothing found in {files}.")


def _anything(inspection: Inspection) -> bool:
    """True if it uses gradients, as far as is known."""
    return bool(
        inspection.findings
        or inspection.followed
        or inspection.unknown
        or inspection.not_checked
        or inspection.suppressed
        or inspection.baselined
        or inspection.unshown
    )


def _nothing(inspection: Inspection) -> str:
    if not inspection.files:
        return f"there are no Python files and no notebooks in {visible(inspection.subject)}."
    if inspection.files == 1:
        return f"there are no gradients in {visible(inspection.subject)}."
    return f"there are no gradients in any of {counted(inspection.files, 'file')}."


def _asides(inspection: Inspection) -> Iterator[str]:
    """What was followed; what was not, and why; what is hidden, and which option shows it."""
    if done := ", ".join(_done(inspection)):
        yield done
    if inspection.unknown:
        yield f"Not followed: {_reasons(inspection)}"
    if inspection.unshown:
        hidden = counted(inspection.unshown, "possible finding")
        yield f"Hidden: {hidden} (--possible shows {'it' if inspection.unshown == 1 else 'them'})"


def _done(inspection: Inspection) -> Iterator[str]:
    """`57 functions followed, 1 finding ignored by comments`."""
    if inspection.followed:
        yield f"{counted(inspection.followed, 'function')} followed"
    if inspection.not_checked:
        files = _files(left.path for left in inspection.not_checked)
        yield f"{counted(files, 'file')} not checked"
    if inspection.suppressed:
        yield f"{counted(len(inspection.suppressed), 'finding')} ignored by comments"
    if inspection.baselined:
        yield f"{inspection.baselined:,} in the baseline"


def _reasons(inspection: Inspection) -> str:
    """`train(): there are too many paths through it`; of several, the most frequent reasons."""
    first, *others = inspection.unknown
    if not others:
        return f"{visible(first.what)}: {visible(first.why)} (--unknown says where)"
    from collections import Counter

    whys = Counter(one.why for one in inspection.unknown).most_common(REASONS)
    told = [f"{visible(why)} ({n:,})" if n > 1 else visible(why) for why, n in whys]
    rest = len(inspection.unknown) - sum(n for _, n in whys)
    told += [f"other reasons ({rest:,})"] * bool(rest)
    functions = counted(len(inspection.unknown), "function")
    return f"{functions}: {'; '.join(told)} (--unknown lists them)"


def _files(paths: Iterable[str]) -> int:
    """How many files these are; the cells of a notebook count as one."""
    from gradledger.report.paths import cell_of

    return len({cell_of(path)[0] for path in paths})
