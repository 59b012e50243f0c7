"""What is offered for each rule's bad example leaves a file that parses, without the finding."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

from gradledger.rules import CATALOGUE, Rule, programs
from gradledger.server.actions import Actions
from gradledger.server.board import Board
from gradledger.server.checking import Report, check
from gradledger.server.documents import Document, bytes_of
from tests.server.editor import applied

EVERYWHERE = types.Range(types.Position(0, 0), types.Position(100_000, 0))


def checked(text: str, folder: Path) -> Report:
    path = folder / "train.py"
    report = check(Document(path.as_uri(), str(path), bytes_of(text)), folder=str(folder))
    assert report is not None
    return report


@pytest.mark.parametrize(
    "end",
    [pytest.param("\r\n", id="crlf"), pytest.param("\n", id="lf", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.code)
def test_every_action_ends_its_finding(rule: Rule, end: str, tmp_path: Path) -> None:
    text = Path(programs.bad(rule).path).read_text(encoding="utf-8").replace("\n", end)
    report = checked(text, tmp_path)
    codec, board = PositionCodec(), Board()
    board.put(report, codec)
    actions = Actions(report, (str(tmp_path),), codec, snippets=False)
    uri = report.document.uri
    offered = list(actions.quick_fixes(board.at(uri, EVERYWHERE)))
    assert sum(not action.is_cure for action in offered) == len(report.findings)
    for action in offered:
        after = applied(text, action.edits[uri])
        ast.parse(after)
        left = checked(after, tmp_path)
        assert len(left.findings) < len(report.findings), action.title
        assert not left.mistakes
        assert end == "\n" or "\n" not in after.replace(end, "")
