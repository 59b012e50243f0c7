"""An editor that has nothing but the protocol: it starts a real server and hears what it says."""

from __future__ import annotations

import asyncio
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient, client_capabilities
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features

PUBLISHED = types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS
PATIENCE = 60
"""Seconds after which a test gives up: only a server that hangs takes so long."""


class Editor:
    """Open documents, and what the server said about them."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.versions: dict[str, int] = {}
        self.published: Counter[str] = Counter()
        """How often something was published about a document."""
        self._news = asyncio.Event()

        def hear(client: LanguageClient, params: types.PublishDiagnosticsParams) -> None:
            client.diagnostics[params.uri] = params.diagnostics
            self.published[params.uri] += 1
            self._news.set()

        register_lsp_features(client, {**DEFAULT_CLIENT_FEATURES, PUBLISHED: hear})

    async def open(self, path: Path | str, text: str, language: str = "python") -> str:
        """Opens a document with this text, and waits for its findings."""
        uri = path.as_uri() if isinstance(path, Path) else path
        self.versions[uri] = 1
        item = types.TextDocumentItem(uri, language, 1, text)
        opened = types.DidOpenTextDocumentParams(item)
        await self.heard_of(uri, lambda: self.client.text_document_did_open(opened))
        return uri

    def type(self, uri: str, text: str) -> None:
        """Replaces the text of a document."""
        self.versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        whole = types.TextDocumentContentChangeWholeDocument(text)
        changed = types.DidChangeTextDocumentParams(document, [whole])
        self.client.text_document_did_change(changed)

    async def change(self, uri: str, text: str) -> None:
        """The same, and waits for its findings."""
        await self.heard_of(uri, lambda: self.type(uri, text))

    async def heard_of(self, uri: str, act: Callable[[], object]) -> None:
        """Acts, and waits until the server has published something about a document."""
        before = self.published[uri]
        act()
        await self.until(lambda: self.published[uri] > before)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits for something to be published, again and again, until that holds."""
        while not holds():
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), PATIENCE)

    def found(self, uri: str) -> Sequence[types.Diagnostic]:
        """What is shown in a document."""
        found: Sequence[types.Diagnostic] = self.client.diagnostics.get(uri, ())
        return found

    def codes(self, uri: str) -> list[tuple[object, int]]:
        """The rules that are shown, with their lines from 1."""
        return [(one.code, one.range.start.line + 1) for one in self.found(uri)]

    async def hover(self, uri: str, line: int) -> str:
        """What is shown on a line, counted from 1; empty where that is nothing."""
        at = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line - 1, 8))
        said = await self.client.text_document_hover_async(at)
        if said is None:
            return ""
        assert isinstance(said.contents, types.MarkupContent)
        return said.contents.value

    async def actions(
        self, uri: str, line: int, only: Sequence[str] | None = None
    ) -> list[types.CodeAction]:
        """What can be done on a line, counted from 1."""
        here = types.Position(line - 1, 8)
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(uri),
            types.Range(here, here),
            types.CodeActionContext(list(self.found(uri)), only),
        )
        offered = await self.client.text_document_code_action_async(params)
        return [one for one in offered or () if isinstance(one, types.CodeAction)]


@asynccontextmanager
async def editor(
    *folders: Path, like: str | types.ClientCapabilities = "neovim"
) -> AsyncIterator[Editor]:
    """An editor with these folders open, which can do what the named one can."""
    client = LanguageClient(converter_factory=default_converter)
    it = Editor(client)
    await client.start_io(sys.executable, "-m", "gradledger", "server")
    able = client_capabilities(like) if isinstance(like, str) else like
    opened = [types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders]
    await client.initialize_session(types.InitializeParams(able, workspace_folders=opened))
    try:
        yield it
    finally:
        await client.shutdown_session()
        await client.stop()  # type: ignore[no-untyped-call]


def talk(story: Coroutine[Any, Any, None]) -> None:
    """Runs a test that talks to a server.

    In a thread of its own: a test of a page may have left an event loop running in this one.
    """
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, _in_time(story)).result()


async def _in_time(story: Coroutine[Any, Any, None]) -> None:
    await asyncio.wait_for(story, PATIENCE)


def applied(text: str, edits: Sequence[Any]) -> str:
    """The text after edits that end at line ends or stand in ASCII lines."""
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)
    for edit in sorted(edits, key=lambda edit: edit.range.start.line, reverse=True):
        start, end = edit.range.start, edit.range.end
        new = edit.new_text if isinstance(edit, types.TextEdit) else edit.snippet.value
        last = lines[end.line] if end.line < len(lines) else ""
        head = lines[start.line][: start.character] if start.line < len(lines) else ""
        lines[start.line : end.line + 1] = [head + new + last[end.character :]]
    return "".join(lines)


def edits_of(action: types.CodeAction) -> dict[str, list[Any]]:
    """The edits of an action, by document, however they were sent."""
    assert action.edit is not None
    if action.edit.changes is not None:
        return {uri: list(edits) for uri, edits in action.edit.changes.items()}
    changes = action.edit.document_changes or ()
    found = [change for change in changes if isinstance(change, types.TextDocumentEdit)]
    return {change.text_document.uri: list(change.edits) for change in found}
