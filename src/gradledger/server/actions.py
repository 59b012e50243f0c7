"""What an editor offers to do about findings: the certain cures, and a comment to ignore one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lsprotocol import types
from pygls.workspace import PositionCodec

from gradledger.ledger.findings import Finding
from gradledger.report.sources import LINE_BREAK
from gradledger.rules import find
from gradledger.server.checking import Report
from gradledger.server.diagnostics import Shown
from gradledger.server.documents import Document
from gradledger.server.edits import text_edits
from gradledger.server.ignoring import REASON, Insertion, ignore
from gradledger.server.notebooks import cell_texts
from gradledger.static.fix import fixes
from gradledger.static.source.cell_places import file_and_cell
from gradledger.static.source.files import decode

FIX_ALL = "source.fixAll.gradledger"
Edit = types.TextEdit | types.SnippetTextEdit
Edits = dict[str, list[Edit]]
"""By the address of a document or cell."""


class Action(NamedTuple):
    """Something that can be done, and to which of the diagnostics."""

    title: str
    kind: str
    edits: Edits
    of: tuple[types.Diagnostic, ...] = ()
    is_cure: bool = True


class Actions:
    """Makes them for one report, in the units of one client."""

    def __init__(
        self, report: Report, roots: tuple[str, ...], codec: PositionCodec, *, snippets: bool
    ) -> None:
        self._report = report
        self._roots = roots
        self._codec = codec
        self._snippets = snippets
        """The client takes a text with a word to type over."""

    def quick_fixes(self, among: Sequence[Shown]) -> Iterator[Action]:
        """For each finding of these: its cure, if that is certain, and a comment."""
        document = self._report.document
        for uri, diagnostic, finding in among:
            if finding is None or file_and_cell(finding.at.path)[0] != document.path:
                continue
            rule = find(finding.rule)
            if edits := self._cured([finding]):
                title = f"Fix {rule.code} {rule.name}"
                yield Action(title, types.CodeActionKind.QuickFix, edits, (diagnostic,))
            if edit := self._ignored(finding):
                title = f"Ignore {rule.code} here, with a reason"
                kind = types.CodeActionKind.QuickFix
                yield Action(title, kind, {uri: [edit]}, (diagnostic,), is_cure=False)

    def fix_all(self) -> Iterator[Action]:
        """All certain cures at once."""
        if edits := self._cured(self._report.findings):
            yield Action("Fix all findings of gradledger that have a certain fix", FIX_ALL, edits)

    def _cured(self, findings: Sequence[Finding]) -> Edits:
        document = self._report.document
        made = fixes(
            findings,
            [document.path],
            roots=self._roots,
            at_hand={document.path: document.data},
        )
        return next((self._changes(document, one.after) for one in made), {})

    def _changes(self, document: Document, after: bytes) -> Edits:
        if not document.cells:
            edits = text_edits(decode(document.data), decode(after), self._codec)
            return {document.uri: [*edits]}
        texts = zip(document.cells, cell_texts(document.data), cell_texts(after), strict=True)
        changed = ((uri, text_edits(old, new, self._codec)) for uri, old, new in texts)
        return {uri: [*edits] for uri, edits in changed if edits}

    def _ignored(self, finding: Finding) -> Edit | None:
        text = self._report.sources.get(finding.at.path)
        made = ignore(text, finding.rule, finding.at.line) if text is not None else None
        return None if text is None or made is None else self._edit(made, text)

    def _edit(self, made: Insertion, text: str) -> Edit:
        row = LINE_BREAK.split(text)[made.line - 1]
        column = self._codec.client_num_units(row[: made.column])
        at = types.Position(made.line - 1, column)
        if not (made.asks and self._snippets):
            return types.TextEdit(types.Range(at, at), made.text)
        snippet = made.text.removesuffix(REASON) + "${1:" + REASON + "}"
        return types.SnippetTextEdit(types.Range(at, at), types.StringValue(snippet))
