"""What the server answers: each feature of the protocol, and who does the work."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version

from lsprotocol import types

from gradledger.policy.roots import roots
from gradledger.server.actions import FIX_ALL, Action, Actions, Edits
from gradledger.server.checking import Report
from gradledger.server.documents import path_of
from gradledger.server.hover import explained
from gradledger.server.ledger_server import LedgerServer

CHECK = "gradledger.check"
"""The command that checks files which are not open; its arguments are their addresses."""

_WATCHED = ("**/pyproject.toml", "**/*.py", "**/*.ipynb")


def serve() -> None:
    """Answers on standard input and output until the client leaves."""
    # The server closes what it is given. And what anything else prints is no part of the protocol.
    with os.fdopen(os.dup(0), "rb") as heard, os.fdopen(os.dup(1), "wb") as said:
        os.dup2(2, 1)
        made().start_io(heard, said)


def made() -> LedgerServer:
    """The server, with all that it can do."""
    server = LedgerServer("gradledger", version("gradledger"))
    feature = server.feature
    feature(types.INITIALIZED)(_watch)
    feature(types.TEXT_DOCUMENT_DID_OPEN)(_opened)
    feature(types.TEXT_DOCUMENT_DID_CHANGE)(_changed)
    feature(types.TEXT_DOCUMENT_DID_SAVE)(_saved)
    feature(types.TEXT_DOCUMENT_DID_CLOSE)(_closed)
    feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)(_notebook_opened)
    feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)(_notebook_changed)
    feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)(_notebook_closed)
    feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(_changed_on_disk)
    feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)(_folders_changed)
    feature(types.TEXT_DOCUMENT_HOVER)(_hover)
    kinds = types.CodeActionOptions([types.CodeActionKind.QuickFix, FIX_ALL])
    feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)(_code_actions)
    server.command(CHECK)(_check)
    return server


def _opened(server: LedgerServer, params: types.DidOpenTextDocumentParams) -> None:
    if params.text_document.language_id == "python":
        server.pacing.ask(params.text_document.uri, at_once=True)


def _changed(server: LedgerServer, params: types.DidChangeTextDocumentParams) -> None:
    uri = params.text_document.uri
    if server.workspace.get_text_document(uri).language_id == "python":
        server.pacing.ask(uri)
        _ask_dependents(server, [uri])


def _saved(server: LedgerServer, params: types.DidSaveTextDocumentParams) -> None:
    _ask_dependents(server, [params.text_document.uri])


def _closed(server: LedgerServer, params: types.DidCloseTextDocumentParams) -> None:
    _forget(server, params.text_document.uri)


def _notebook_opened(server: LedgerServer, params: types.DidOpenNotebookDocumentParams) -> None:
    server.pacing.ask(params.notebook_document.uri, at_once=True)


def _notebook_changed(server: LedgerServer, params: types.DidChangeNotebookDocumentParams) -> None:
    server.pacing.ask(params.notebook_document.uri)


def _notebook_closed(server: LedgerServer, params: types.DidCloseNotebookDocumentParams) -> None:
    server.notebooks.forget([cell.uri for cell in params.cell_text_documents])
    _forget(server, params.notebook_document.uri)


def _forget(server: LedgerServer, uri: str) -> None:
    server.pacing.forget(uri)
    server.board.remove(uri)
    server.publish()


def _ask_dependents(server: LedgerServer, uris: Sequence[str]) -> None:
    """Checks again what depends on these files."""
    changed = frozenset(map(path_of, uris))
    for uri, report in server.board.reports.items():
        if report.needs & changed:
            server.pacing.ask(uri)


def _changed_on_disk(server: LedgerServer, params: types.DidChangeWatchedFilesParams) -> None:
    uris = [change.uri for change in params.changes]
    if any(uri.endswith("pyproject.toml") for uri in uris):
        _ask_all(server)
    _ask_dependents(server, uris)
    gone = [c.uri for c in params.changes if c.type == types.FileChangeType.Deleted]
    is_open = {document.uri for document in server.open_documents()}
    for uri in gone:
        if uri in server.board.reports and uri not in is_open:
            _forget(server, uri)


def _folders_changed(server: LedgerServer, _: types.DidChangeWorkspaceFoldersParams) -> None:
    _ask_all(server)


def _ask_all(server: LedgerServer) -> None:
    for document in server.open_documents():
        server.pacing.ask(document.uri)


def _watch(server: LedgerServer, _: types.InitializedParams) -> None:
    """Asks to be told of files that change on disk, of clients that can."""
    workspace = server.client_capabilities.workspace
    watches = workspace.did_change_watched_files if workspace else None
    if watches is None or not watches.dynamic_registration:
        return
    options = types.DidChangeWatchedFilesRegistrationOptions(
        [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
    )
    method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
    wish = types.Registration("gradledger-files", method, options)
    server.client_register_capability(types.RegistrationParams([wish]))


def _hover(server: LedgerServer, params: types.HoverParams) -> types.Hover | None:
    here = types.Range(params.position, params.position)
    uri = params.text_document.uri
    if server.owner(uri) not in server.board.reports and server.document(uri) is None:
        return None
    found = [one.finding for one in server.board.at(uri, here) if one.finding is not None]
    if not found:
        return None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, explained(found)))


async def _code_actions(
    server: LedgerServer, params: types.CodeActionParams
) -> list[types.CodeAction]:
    uri = params.text_document.uri
    report = await server.fresh(server.owner(uri))
    if report is None:
        return []
    wanted = params.context.only
    actions = _actions(server, report)
    found: list[Action] = []
    if wanted is None or any(_includes(kind, types.CodeActionKind.QuickFix) for kind in wanted):
        here = server.board.at(uri, params.range)
        found += await server.in_thread(lambda: list(actions.quick_fixes(here)))
    if wanted is not None and any(_includes(kind, FIX_ALL) for kind in wanted):
        found += await server.in_thread(lambda: list(actions.fix_all()))
    return [_offered(server, action) for action in found]


def _includes(asked: str, kind: str) -> bool:
    return kind == asked or kind.startswith(f"{asked}.")


def _actions(server: LedgerServer, report: Report) -> Actions:
    path = report.document.path
    edit = server.client_capabilities.workspace
    able = edit.workspace_edit if edit else None
    return Actions(
        report,
        roots([path], here=server.folder(path)),
        server.codec,
        snippets=bool(able and able.document_changes and able.snippet_edit_support),
    )


def _offered(server: LedgerServer, action: Action) -> types.CodeAction:
    return types.CodeAction(
        action.title,
        action.kind,
        diagnostics=list(action.of) or None,
        is_preferred=True if action.is_cure and action.of else None,
        edit=_workspace_edit(server, action.edits),
    )


def _workspace_edit(server: LedgerServer, edits: Edits) -> types.WorkspaceEdit:
    able = server.client_capabilities.workspace
    if not (able and able.workspace_edit and able.workspace_edit.document_changes):
        plain = {u: [e for e in own if isinstance(e, types.TextEdit)] for u, own in edits.items()}
        return types.WorkspaceEdit(plain)
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(
                    uri, server.workspace.get_text_document(uri).version
                ),
                [*own],
            )
            for uri, own in edits.items()
        ]
    )


async def _check(server: LedgerServer, *uris: str) -> None:
    for uri in uris:
        await server.refresh(server.owner(uri))
