from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types
from pytest_lsp import client_capabilities

from tests.server.editor import applied, editor, edits_of, talk
from tests.server.programs import BROKEN, LEFT_OVER, RIGHT, WRONG


def test_findings_come_with_their_places_while_one_types(tmp_path: Path) -> None:
    async def story() -> None:
        async with editor(tmp_path) as it:
            uri = await it.open(tmp_path / "train.py", WRONG)
            (finding,) = it.found(uri)
            assert finding.code == "GL101"
            assert finding.source == "gradledger"
            assert finding.severity == types.DiagnosticSeverity.Error
            assert finding.range == types.Range(types.Position(7, 4), types.Position(7, 20))
            related = finding.related_information
            assert related is not None
            assert {one.location.range.start.line + 1 for one in related} == {7, 8}
            assert {one.location.uri for one in related} == {uri}
            await it.change(uri, RIGHT)
            assert it.codes(uri) == []
            await it.change(uri, WRONG)
            assert it.codes(uri) == [("GL101", 8)]

    talk(story())


def test_the_last_good_result_stays_while_the_text_does_not_parse(tmp_path: Path) -> None:
    async def story() -> None:
        async with editor(tmp_path) as it:
            uri = await it.open(tmp_path / "train.py", WRONG)
            it.type(uri, BROKEN)
            assert "GL101" in await it.hover(uri, 8)
            assert await it.actions(uri, 8) == [], "an edit of another text could do harm"
            assert it.codes(uri) == [("GL101", 8)]
            await it.change(uri, RIGHT)
            assert it.codes(uri) == []

    talk(story())


def test_hover_tells_the_rule_the_fault_and_the_cure(tmp_path: Path) -> None:
    async def story() -> None:
        async with editor(tmp_path) as it:
            uri = await it.open(tmp_path / "train.py", WRONG)
            said = await it.hover(uri, 8)
            assert said.startswith("### GL101 spent-gradient-reused (error, certain)\n")
            assert "**Here**: " in said
            assert "zero_grad()" in said.partition("**How to fix**: ")[2]
            assert "**Why it matters**: Every update also repeats" in said
            assert await it.hover(uri, 1) == ""

    talk(story())


def test_a_quick_fix_is_the_edit_of_fix(tmp_path: Path) -> None:
    async def story() -> None:
        async with editor(tmp_path) as it:
            uri = await it.open(tmp_path / "train.py", WRONG)
            fix, ignore = await it.actions(uri, 8)
            assert fix.title == "Fix GL101 spent-gradient-reused"
            assert fix.is_preferred
            assert [one.code for one in fix.diagnostics or ()] == ["GL101"]
            assert applied(WRONG, edits_of(fix)[uri]) == RIGHT
            assert not ignore.is_preferred
            (everything,) = await it.actions(uri, 1, only=["source.fixAll"])
            assert applied(WRONG, edits_of(everything)[uri]) == RIGHT

    talk(story())


def test_ignore_here_ends_the_finding(tmp_path: Path) -> None:
    async def story() -> None:
        async with editor(tmp_path) as it:
            uri = await it.open(tmp_path / "train.py", LEFT_OVER)
            ((code, line),) = it.codes(uri)
            assert code == "GL203"
            (ignore,) = await it.actions(uri, line)
            assert ignore.title == "Ignore GL203 here, with a reason"
            text = applied(LEFT_OVER, edits_of(ignore)[uri])
            assert text.splitlines()[line - 1].endswith("  # gradledger: ignore[GL203] reason")
            await it.change(uri, text)
            assert it.codes(uri) == []

    talk(story())


def test_an_editor_that_can_lets_one_type_over_the_reason(tmp_path: Path) -> None:
    able = client_capabilities("neovim")
    assert able.workspace is not None
    able.workspace.workspace_edit = types.WorkspaceEditClientCapabilities(
        document_changes=True, snippet_edit_support=True
    )

    async def story() -> None:
        async with editor(tmp_path, like=able) as it:
            uri = await it.open(tmp_path / "train.py", WRONG)
            ignore = (await it.actions(uri, 8))[-1]
            (edit,) = edits_of(ignore)[uri]
            assert isinstance(edit, types.SnippetTextEdit)
            assert edit.snippet.value == "  # gradledger: ignore[GL101] ${1:reason}"

    talk(story())


def test_an_ignore_that_ignores_nothing_is_told(tmp_path: Path) -> None:
    async def story() -> None:
        async with editor(tmp_path) as it:
            text = WRONG.replace("step()", "step()  # gradledger: ignor[GL101] it is fine")
            uri = await it.open(tmp_path / "train.py", text)
            assert it.codes(uri) == [("GL101", 8), ("ignore-comment", 8)]

    talk(story())


def test_a_file_that_is_gone_gets_one_clear_message(tmp_path: Path) -> None:
    async def story() -> None:
        async with editor(tmp_path) as it:
            gone = (tmp_path / "gone.py").as_uri()
            for _ in range(2):
                assert await it.actions(gone, 1) == []
                assert await it.hover(gone, 1) == ""
            ask = types.ExecuteCommandParams("gradledger.check", [gone])
            await it.client.workspace_execute_command_async(ask)
            (message,) = it.client.messages
            assert message.type == types.MessageType.Error
            path = tmp_path / "gone.py"
            why = "it can't be read: No such file or directory."
            assert message.message == f"gradledger: {path} is not checked: {why}"

    talk(story())


def test_a_file_that_is_not_open_can_be_checked_too(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(WRONG)
    uri = (tmp_path / "train.py").as_uri()

    async def story() -> None:
        async with editor(tmp_path) as it:
            ask = types.ExecuteCommandParams("gradledger.check", [uri])
            await it.client.workspace_execute_command_async(ask)
            assert it.codes(uri) == [("GL101", 8)]

    talk(story())


@pytest.mark.parametrize(
    ("like", "encoding"), [("neovim", "utf-8"), ("visual-studio-code", "utf-16-le")]
)
@pytest.mark.parametrize(
    "end",
    [
        pytest.param("\r\n", id="crlf"),
        pytest.param("\n", id="lf", marks=pytest.mark.slow),
        pytest.param("\r", id="cr", marks=pytest.mark.slow),
    ],
)
def test_lines_and_letters_are_counted_as_the_editor_counts_them(
    tmp_path: Path, end: str, like: str, encoding: str
) -> None:
    before = '    print("🔥é"); '
    text = WRONG.replace("    optimizer.step()", f"{before}optimizer.step()").replace("\n", end)
    units = len(before.encode(encoding)) // len("a".encode(encoding))

    async def story() -> None:
        async with editor(tmp_path, like=like) as it:
            uri = await it.open(tmp_path / "train.py", text)
            (finding,) = it.found(uri)
            assert finding.range.start == types.Position(7, units)
            assert finding.range.end == types.Position(7, units + len("optimizer.step()"))
            fix = (await it.actions(uri, 8))[0]
            fixed = text.replace("    loss.b", f"    optimizer.zero_grad(){end}    loss.b")
            assert applied(text, edits_of(fix)[uri]) == fixed

    talk(story())
