"""What the server is made of, without a client."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from pygls.workspace import PositionCodec

from gradledger.ledger.findings import Finding, WitnessStep
from gradledger.ledger.places import Place
from gradledger.server.documents import bytes_of, path_of
from gradledger.server.edits import text_edits
from gradledger.server.hover import explained
from gradledger.server.ignoring import ignore
from gradledger.server.pacing import Pacing
from tests.server.editor import applied, talk


@pytest.mark.parametrize(
    ("text", "line", "row"),
    [
        ("step()\n", 1, "step()  # gradledger: ignore[GL101] reason"),
        ("step()  # why\n", 1, "step()  # why  # gradledger: ignore[GL101] reason"),
        ("step(\n  a,\n)\nb\n", 1, ")  # gradledger: ignore[GL101] reason"),
        ("f('''\nx'''); step()\n", 1, "x'''); step()  # gradledger: ignore[GL101] reason"),
        ("a = b + \\\n  step()\n", 2, "  step()  # gradledger: ignore[GL101] reason"),
        ("for x in y:\n  step()\n", 1, "for x in y:  # gradledger: ignore[GL101] reason"),
        ("s()  # gradledger: ignore[GL203] so\n", 1, "s()  # gradledger: ignore[GL203, GL101] so"),
    ],
)
def test_the_comment_stands_where_it_is_heard(text: str, line: int, row: str) -> None:
    made = ignore(text, "GL101", line)
    assert made is not None
    lines = text.split("\n")
    old = lines[made.line - 1]
    assert old[: made.column] + made.text + old[made.column :] == row


def test_no_comment_is_put_into_what_is_no_python() -> None:
    assert ignore("x = '''\nstep()\n", "GL101", 2) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nx\nb\nc\n"),
        ("a\nb", "a\nc"),
        ("a\r\nb\r\n", "b\r\n"),
        ("a\x0cb\nc\n", "a\x0cb\nd\n"),
        ("", "a\n"),
    ],
)
def test_edits_make_the_one_text_of_the_other(before: str, after: str) -> None:
    edits = text_edits(before, after, PositionCodec())
    assert applied(before, edits) == after


def test_a_text_has_the_bytes_of_the_encoding_that_it_declares() -> None:
    assert bytes_of("é") == "é".encode()
    assert bytes_of("# coding: latin-1\né") == "# coding: latin-1\né".encode("latin-1")
    assert bytes_of("# coding: no-such\né") == "# coding: no-such\né".encode()
    assert bytes_of("# coding: ascii\né") == "# coding: ascii\né".encode()


def test_text_that_was_never_saved_has_a_path_all_the_same(tmp_path: Path) -> None:
    assert path_of((tmp_path / "a b.py").as_uri()) == str(tmp_path / "a b.py")
    assert path_of("untitled:Untitled-1").endswith("Untitled-1")


def test_several_keystrokes_are_one_check() -> None:
    checked: list[str] = []

    async def story() -> None:
        done = asyncio.Event()

        async def check(uri: str) -> None:
            checked.append(uri)
            done.set()

        pacing = Pacing(check)
        for _ in range(5):
            pacing.ask("a")
        pacing.ask("b")
        pacing.forget("b")
        await done.wait()

    talk(story())
    assert checked == ["a"]


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ("None", "gradledger server needs pygls, which is not installed here"),
        ("object()", "gradledger server needs pygls 2 or newer, and an older one is installed"),
    ],
    ids=["missing", "old"],
)
def test_without_the_pygls_it_needs_there_is_the_line_to_type(there: str, said: str) -> None:
    program = (
        f"import sys; sys.modules['pygls'] = {there}\n"
        "from gradledger.cli import main; sys.exit(main(['server']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == f"gradledger: {said}: pip install 'gradledger[lsp]'\n"


def test_the_server_loads_no_torch() -> None:
    program = "import sys, gradledger.server.serve as s; s.made(); print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_the_path_and_its_assumptions_are_explained() -> None:
    here, there = Place("train.py", 8), Place("helper.py", 3)
    steps = WitnessStep("deposited", there, "iteration 1"), WitnessStep("spent", here, "")
    assumed = ("only with `--fp16` on; it is off by default",)
    finding = Finding("GL101", here, "2 deposits", "certain", witness=steps, assumptions=assumed)
    text = explained([finding])
    assert "1. deposited, helper.py:3 (iteration 1)\n2. spent, line 8\n" in text
    assert "**Assumes**: only with `--fp16` on; it is off by default." in text
    assert "How it happens" not in explained([Finding("GL101", here, "2 deposits", "certain")])
