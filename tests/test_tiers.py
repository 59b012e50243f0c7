"""The README of the tests says of every file with slow tests what is slow in it."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
TABLE = (TESTS / "README.md").read_text(encoding="utf-8").partition("## Two tiers")[2]
NAMED = [
    path
    for row in re.findall(r"^\| ([^|]*) \|", TABLE, re.MULTILINE)
    for path in re.findall(r"`([\w/]+(?:/|\.py))`", row)
]
SLOW = re.compile(r"\bpytest\.mark\.slow\b|\bslow_but")


def test_every_file_with_slow_tests_is_in_the_table() -> None:
    slow = [
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("test_*.py")
        if path != Path(__file__) and SLOW.search(path.read_text(encoding="utf-8"))
    ]
    assert len(slow) > 50
    assert [path for path in slow if not path.startswith(tuple(NAMED))] == []


def test_what_the_table_names_is_there() -> None:
    assert len(NAMED) > 30
    assert [path for path in NAMED if not (TESTS / path).exists()] == []
