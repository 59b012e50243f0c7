"""Files that belong together, folders with their own configuration, and notebooks."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from lsprotocol import types

from tests.server.editor import Editor, applied, editor, edits_of, talk
from tests.server.programs import CALLER, HELPER, LEFT_OVER, RIGHT, WRONG

QUIET = '[tool.gradledger]\nignore = ["GL101"]\n'


def test_each_folder_has_its_own_configuration(tmp_path: Path) -> None:
    loud, quiet = tmp_path / "loud", tmp_path / "quiet"
    for folder in (loud, quiet):
        folder.mkdir()
    (quiet / "pyproject.toml").write_text(QUIET)

    async def story() -> None:
        async with editor(loud, quiet) as it:
            heard = await it.open(loud / "train.py", WRONG)
            hushed = await it.open(quiet / "train.py", WRONG)
            assert it.codes(heard) == [("GL101", 8)]
            assert it.codes(hushed) == []

    talk(story())


def test_a_configuration_that_changes_counts_at_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with editor(tmp_path) as it:
            uri = await it.open(tmp_path / "train.py", WRONG)
            assert it.codes(uri) == [("GL101", 8)]
            project = tmp_path / "pyproject.toml"
            project.write_text(QUIET)
            await _changed_on_disk(it, project, then=uri)
            assert it.codes(uri) == []
            project.write_text('[tool.gradledger]\nexclude = ["train.py"]\n')
            it.type(uri, LEFT_OVER)
            await _changed_on_disk(it, project, then=uri)
            assert it.codes(uri) == []

    talk(story())


def test_a_configuration_that_makes_no_sense_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.gradledger]\nignroe = ["GL101"]\n')

    async def story() -> None:
        async with editor(tmp_path) as it:
            train = tmp_path / "train.py"
            item = types.TextDocumentItem(train.as_uri(), "python", 1, WRONG)
            it.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
            message = await it.client.wait_for_notification(types.WINDOW_SHOW_MESSAGE)
            assert "has no key 'ignroe'. Did you mean 'ignore'?" in message.message

    talk(story())


def test_what_another_open_file_says_counts_before_it_is_saved(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "helper.py").write_text(HELPER)

    async def story() -> None:
        async with editor(tmp_path) as it:
            helper = (tmp_path / "helper.py").as_uri()
            caller = await it.open(tmp_path / "main.py", CALLER)
            await it.until(lambda: it.codes(helper) == [("GL101", 7)])  # and not at the call
            assert it.codes(caller) == []
            await it.open(tmp_path / "helper.py", HELPER)
            cured = HELPER.replace("    loss.b", "    optimizer.zero_grad()\n    loss.b")
            it.type(helper, cured)
            await it.until(lambda: it.codes(helper) == [])
            it.client.text_document_did_close(
                types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(helper))
            )
            it.type(caller, CALLER + "\n")
            await it.until(lambda: it.codes(helper) == [("GL101", 7)])  # as on disk

    talk(story())


def test_a_file_is_called_what_the_editor_calls_it(tmp_path: Path) -> None:
    folder = tmp_path / "lr=0.1, größe@🔥"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "helper.py").write_text(HELPER)
    # Of the letters that Python escapes in an address, Neovim leaves some as they are.
    helper = "file://" + quote(f"{folder}/helper.py", safe="/-._~!$&'()*+,;=:@")
    assert helper != (folder / "helper.py").as_uri()

    async def story() -> None:
        async with editor(tmp_path) as it:
            await it.open(helper, HELPER)
            it.type(await it.open(folder / "main.py", CALLER), CALLER + "\n")
            await it.until(lambda: it.codes(helper) == [("GL101", 7)])
            assert "GL101" in await it.hover(helper, 7)
            told = {uri for uri in it.client.diagnostics if it.codes(uri)}
            assert told == {helper}

    talk(story())


def test_a_closed_document_shows_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with editor(tmp_path) as it:
            uri = await it.open(tmp_path / "train.py", WRONG)
            closed = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
            await it.heard_of(uri, lambda: it.client.text_document_did_close(closed))
            assert it.codes(uri) == []

    talk(story())


def test_a_notebook_is_checked_cell_by_cell(tmp_path: Path) -> None:
    head, _, loop = WRONG.partition("for ")
    texts = ["# A heading", "%matplotlib inline\n" + head, "for " + loop]
    notebook = (tmp_path / "train.ipynb").as_uri()
    cells = [f"vscode-notebook-cell:/train.ipynb#{number}" for number in range(3)]

    async def story() -> None:
        async with editor(tmp_path, like="visual-studio-code") as it:
            await it.heard_of(cells[2], lambda: _open_notebook(it, notebook, cells, texts))
            assert it.codes(cells[2]) == [("GL101", 4)]
            assert it.codes(cells[1]) == []
            (finding,) = it.found(cells[2])
            related = finding.related_information or ()
            assert {one.location.uri for one in related} == {cells[2]}
            fix, ignore = await it.actions(cells[2], 4)
            assert "optimizer.zero_grad()\n" in applied(texts[2], edits_of(fix)[cells[2]])
            assert edits_of(ignore).keys() == {cells[2]}
            assert "GL101" in await it.hover(cells[2], 4)

            broken = "def (:\n" + texts[2]
            await it.heard_of(cells[2], lambda: _type(it, notebook, cells[2], 2, broken))
            assert it.codes(cells[2]) == [("GL101", 4)], "that of the text that parsed last"
            cured = texts[2].replace("    loss.b", "    optimizer.zero_grad()\n    loss.b")
            await it.heard_of(cells[2], lambda: _type(it, notebook, cells[2], 3, cured))
            assert it.codes(cells[2]) == []

    talk(story())


def test_a_right_file_has_no_actions(tmp_path: Path) -> None:
    async def story() -> None:
        async with editor(tmp_path) as it:
            uri = await it.open(tmp_path / "train.py", RIGHT)
            assert await it.actions(uri, 8) == []
            assert await it.actions(uri, 8, only=["source.fixAll.gradledger"]) == []

    talk(story())


def _open_notebook(it: Editor, uri: str, cells: list[str], texts: list[str]) -> None:
    kinds = [types.NotebookCellKind.Markup] + [types.NotebookCellKind.Code] * 2
    listed = [types.NotebookCell(kind, cell) for kind, cell in zip(kinds, cells, strict=True)]
    opened = [
        types.TextDocumentItem(cell, "markdown" if number == 0 else "python", 1, text)
        for number, (cell, text) in enumerate(zip(cells, texts, strict=True))
    ]
    document = types.NotebookDocument(uri, "jupyter-notebook", 1, listed)
    it.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(document, opened))


def _type(it: Editor, notebook: str, cell: str, version: int, text: str) -> None:
    whole = types.TextDocumentContentChangeWholeDocument(text)
    identifier = types.VersionedTextDocumentIdentifier(version, cell)
    content = types.NotebookDocumentCellContentChanges(identifier, [whole])
    cells = types.NotebookDocumentCellChanges(text_content=[content])
    changed = types.DidChangeNotebookDocumentParams(
        types.VersionedNotebookDocumentIdentifier(version, notebook),
        types.NotebookDocumentChangeEvent(cells=cells),
    )
    it.client.notebook_document_did_change(changed)


async def _changed_on_disk(it: Editor, path: Path, then: str) -> None:
    event = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
    changed = types.DidChangeWatchedFilesParams([event])
    await it.heard_of(then, lambda: it.client.workspace_did_change_watched_files(changed))
