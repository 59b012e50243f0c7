"""The auditor keeps the books under all that people train with.

Each program in programs/conditions clears in one line. With it, nothing is found; without it, the
marked line is. It computes, prints and draws what it does without an auditor.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import nn

from gradledger.runtime.audit import audit
from tests.runtime.command_line import CommandLine
from tests.runtime.nursery import marked
from tests.tiers import slow_but

FOLDER = Path(__file__).parent / "programs" / "conditions"
PROGRAMS = sorted(FOLDER.glob("*.py"))
# To compile takes seconds, and with inductor most of a minute.
EACH = slow_but(lambda program: not re.match("compiled_(?!model_eager)", program.stem), PROGRAMS)
CLEAR = "optimizer.zero_grad()  # the clear"


@pytest.mark.parametrize("program", EACH, ids=lambda program: program.stem)
def test_nothing_is_found_and_nothing_noticed_in(program: Path, command_line: CommandLine) -> None:
    audited, plain = command_line.both(program)
    assert plain.status == 0, plain.errors
    assert audited.seen_by_the_program == plain.seen_by_the_program
    assert audited.findings == set(), audited.words
    assert audited.verdict["stats"]["trouble"] == ""
    assert audited.verdict["stats"]["steps"] >= 3


@pytest.mark.parametrize("program", EACH, ids=lambda program: program.stem)
def test_the_missing_clear_is_found_in(
    program: Path, command_line: CommandLine, tmp_path: Path
) -> None:
    source = program.read_text(encoding="utf-8")
    assert source.count(CLEAR) == 1
    changed = tmp_path / program.name
    changed.write_text(source.replace(CLEAR, "pass"), encoding="utf-8")
    expected = {"GL101:5"} if program.stem == "notebook" else marked(changed)
    audited = command_line.audited(changed)
    assert audited.findings == expected, audited.words


@pytest.mark.parametrize("clears", [True, False])
def test_an_optimizer_that_was_there_before_is_known(clears: bool) -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(3, 2)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    with audit() as book:
        for _ in range(3):
            model(torch.ones(3, 2)).sum().backward()
            optimizer.step()
            if clears:
                optimizer.zero_grad()
    assert [finding.rule for finding in book.findings] == ([] if clears else ["GL101"])
    assert book.tally.steps == 3
    assert all("model." in name for finding in book.findings for name in finding.cells)
