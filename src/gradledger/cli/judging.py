"""Sorts the findings of a check: shown, ignored by a comment, or in the baseline."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.cli.checking import Gathered, Outcome
from gradledger.cli.settings import Settings
from gradledger.ledger.values import replace
from gradledger.policy.comparing import compare
from gradledger.policy.library import Library
from gradledger.policy.naming import as_given
from gradledger.policy.sifting import one_each, sift
from gradledger.report.paths import shown
from gradledger.static.source.files import Source, from_bytes


def judged(
    outcome: Outcome, gathered: Gathered, settings: Settings, stdin: bytes | None
) -> Outcome:
    """The outcome with its findings, and with notes about ignore comments."""
    library = _library(settings, stdin)
    findings = one_each(as_given(gathered.findings, gathered.files))
    sifted = sift(findings, settings, library)
    compared = compare(
        sifted.shown, settings, library, gathered.files, write=settings.write_baseline
    )
    inspection = replace(
        outcome.inspection,
        findings=compared.new,
        sources=library.texts(compared.new),
        suppressed=sifted.suppressed,
        baselined=compared.known,
        unshown=sifted.unshown,
    )
    comments = _comments(settings, library, gathered)
    return replace(
        outcome,
        inspection=inspection,
        remarks=(*outcome.remarks, *comments, *compared.remarks),
        entries=compared.entries,
    )


def _library(settings: Settings, stdin: bytes | None) -> Library:
    if settings.stdin is not None and stdin is not None:
        source = from_bytes(settings.stdin, stdin)
        if isinstance(source, Source):
            return Library(source)
    return Library()


def _comments(settings: Settings, library: Library, gathered: Gathered) -> Iterator[str]:
    """Notes about ignore comments with mistakes; on request, also about unused ones."""
    if settings.report_unused:
        for path in gathered.files:
            library.comments(path)
    for file, comments in library.read_comments():
        told = [(mistake.line, mistake.message) for mistake in comments.mistakes]
        if settings.report_unused:
            unused = comments.unused(settings.kept)
            told += [(ignore.line, "this ignore ignores nothing") for ignore in unused]
        for line, message in sorted(told):
            place = library.place(file, line)
            yield f"{shown(place.path)}:{place.line}: {message}"
