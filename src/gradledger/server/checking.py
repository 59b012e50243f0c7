"""One check of what an editor shows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.policy import policy_of
from gradledger.policy.comparing import compare
from gradledger.policy.configuration import nearest
from gradledger.policy.library import Library
from gradledger.policy.naming import as_given
from gradledger.policy.roots import roots
from gradledger.policy.sifting import is_excluded, one_each, sift
from gradledger.server.documents import Document
from gradledger.static.project.project import Project
from gradledger.static.runner.one_file import check_data
from gradledger.static.source.files import Source, from_bytes

Mistake = tuple[Place, str]
"""A comment that does not say what its writer meant, and why."""


class Report(NamedTuple):
    """What is shown of a document."""

    document: Document
    findings: tuple[Finding, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    sources: Mapping[str, str] = {}
    """The text of each file, or cell, that they point into."""
    needs: frozenset[str] = frozenset()
    """Other files on which that depends, whether they exist or not."""


def check(document: Document, others: Sequence[Document] = (), *, folder: str) -> Report | None:
    """What `gradledger check` shows of the document; None while its text does not parse.

    `others` are open, too, and count as they stand in the editor. `folder` is that of the workspace
    the document belongs to. Raises GradledgerError where the configuration makes no sense.
    """
    policy = policy_of(nearest(document.path))
    if is_excluded(document.path, policy.configured):
        return Report(document)
    at_hand = {other.path: other.data for other in others}
    project = Project(roots([document.path], here=folder), at_hand=at_hand)
    result = check_data(document.path, document.data, project, calls=True)
    if result.troubles and not document.cells:
        return None
    library = Library(*_sources((document, *others)))
    found = one_each(as_given(result.checked.findings, [document.path]))
    shown = compare(sift(found, policy, library).shown, policy, library, [document.path]).new
    mistakes = tuple(
        (library.place(document.path, mistake.line), mistake.message)
        for mistake in library.comments(document.path).mistakes
    )
    texts = library.texts(shown) | library.texts_of([document.path])
    needs = frozenset(map(os.path.abspath, project.dependencies()))
    return Report(document, shown, mistakes, texts, needs)


def _sources(documents: Sequence[Document]) -> list[Source]:
    read = (from_bytes(document.path, document.data) for document in documents)
    return [source for source in read if isinstance(source, Source)]
