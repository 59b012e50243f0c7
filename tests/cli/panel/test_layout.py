from __future__ import annotations

import math
import re
from pathlib import Path
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from gradledger.cli.panel.facts import Facts, Lane
from gradledger.cli.panel.layout import clipped, laid_out
from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.report.visible import columns
from gradledger.rules import CATALOGUE

FOLDER = "/home/me/project"


def finding(rule: str, path: str = "train.py", line: int = 14, count: int = 1) -> Finding:
    return Finding(rule, Place(f"{FOLDER}/{path}", line), "", "observed", count=count)


GOOD = Facts("train.py", 754, (Lane("optimizer", 1204, 12.34, 1, norm=0.8312, course=(1, 2, 4)),))
GAN = Facts(
    "train.py",
    3723,
    (
        Lane(
            "opt_g", 12_040, 123.4, 4, 2, 7, norm=0.0000123, course=[1 / (n + 1) for n in range(99)]
        ),
        Lane("self.critics[0]", 0, None, None, 3),
        Lane("opt_d", 602, 0.25, 4, 3, norm=math.inf, course=[3.0] * 50),
    ),
    (
        finding("GL301", count=1200),
        finding("GL102", "models/adversarial/losses.py", 1234, count=1),
        finding("GL203", count=12),
    ),
)
CASES = {
    "nothing yet": Facts("train.py"),
    "an optimizer": Facts("train.py", 3, (Lane("optimizer", gathered=2),)),
    "a good run": GOOD,
    "findings": GAN,
    "sampled": GOOD._replace(every=10),
    "not all seen": GOOD._replace(unseen=True),
    "findings, and not all seen": GAN._replace(unseen=True),
    "a bug of ours": GAN._replace(trouble=True),
    "many": Facts(
        "train.py",
        59,
        [Lane(f"optimizers[{n}]", n) for n in range(6)],
        [finding("GL201", line=n) for n in range(9)],
    ),
    "hostile": Facts(
        "\x1b[2Jtrain.py",
        1,
        (Lane("\x1b[31mopt\n漢字の最適化器漢字の最適化器", 3),),
        (finding("GL101", "\x1b]0;x\x07.py"),),
    ),
}


def shown(facts: Facts, size: tuple[int, int]) -> str:
    lines = laid_out(facts, size=size, folder=FOLDER)
    return "\n".join("".join(text for text, _ in clipped(line, size[0])).rstrip() for line in lines)


@pytest.mark.parametrize(
    "size", [(100, 8), (60, 8), (32, 3)], ids=lambda size: f"{size[0]}x{size[1]}"
)
@pytest.mark.parametrize("case", CASES)
def test_a_panel(case: str, size: tuple[int, int], snapshot: SnapshotAssertion) -> None:
    assert shown(CASES[case], size) == snapshot


def test_the_panel_in_the_docs_is_one() -> None:
    page = (Path(__file__).parents[3] / "docs" / "auditor.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```text\n(── gradledger .*?)\n```", page, re.DOTALL)
    falling = [1 / (n + 1) for n in range(60)]
    wavy = [12.5 + 5 * math.sin(n / 5) for n in range(60)]
    lanes = (
        Lane("opt_g", 12_040, 12.34, 4, 2, 7, 0.8312, falling),
        Lane("opt_d", 3010, 0.3101, 4, 3, 0, 12.5, wavy),
    )
    findings = finding("GL301", count=11_800), finding("GL203", count=12)
    assert block == shown(Facts("train.py", 3723, lanes, findings), (98, 8))


LANES = st.builds(
    Lane,
    st.text(max_size=30),
    st.integers(0, 10**9),
    st.none() | st.floats(0, 1e6),
    st.none() | st.integers(0, 10**5),
    st.integers(0, 10**5),
    st.integers(0, 10**5),
    st.none() | st.floats(0),
    st.lists(st.floats(0, allow_infinity=False), max_size=40),
)
FINDINGS = st.builds(
    Finding,
    st.sampled_from([rule.code for rule in CATALOGUE]),
    st.builds(Place, st.text(max_size=60), st.integers(1, 10**5)),
    st.just(""),
    st.just("observed"),
    count=st.integers(1, 10**9),
)
FACTS = st.builds(
    Facts, st.text(max_size=80), st.floats(0, 1e7), st.lists(LANES, max_size=5),
    st.lists(FINDINGS, max_size=12), st.integers(1, 100), st.booleans(),
)  # fmt: skip


@given(FACTS, st.integers(32, 200), st.integers(3, 10))
def test_no_panel_is_larger_than_its_room(facts: Facts, room: int, rows: int) -> None:
    lines = laid_out(facts, size=(room, rows), folder=FOLDER)
    assert len(lines) <= rows
    for line in lines:
        pieces = clipped(line, room)
        assert sum(columns(text) for text, _ in pieces) <= room
        assert not {category(letter) for text, _ in pieces for letter in text} & {"Cc", "Cs"}


@given(FACTS, st.integers(60, 200))
def test_what_is_not_shown_is_counted(facts: Facts, room: int) -> None:
    text = shown(facts, (room, 8)).split("\n")
    faults = [row for row in text if row.lstrip().startswith(("error ", "warning ", "info "))]
    more = [int(row.split()[1]) for row in text if row.endswith(("more finding", "more findings"))]
    assert len(faults) + sum(more) == len(facts.findings)
