"""Training programs as texts, written twice at once: a correct one and its faulty twin.

A line that ends with `# right only` stands in the correct one alone, one that ends with
`# wrong only` in the faulty one alone. The line that is at fault says so: `# GL101`, and
`# wrong only, GL101` says both. So the expectation stands in the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from gradledger.static.check import check_source
from gradledger.static.project.project import Project
from gradledger.static.result import Checked
from gradledger.static.source.files import Source

Found = set[tuple[str, int]]
"""Rules, and the lines where they are broken."""

ONE_NET = """\
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

from data import dataset, device, epochs

loader = DataLoader(dataset, batch_size=16, shuffle=True)
model = nn.Linear(8, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

"""
"""What most programs begin with: a net, its optimizer, and data of which nobody knows how much."""

_MARK = re.compile(r"[ ]*# (?P<only>(right|wrong) only)?(, )?(?P<rules>GL\d{3}(, GL\d{3})*)?$")


def correct(text: str) -> str:
    """The program that breaks no law."""
    return "\n".join(_lines(text, without="wrong only"))


def faulty(text: str) -> tuple[str, Found]:
    """The program with its fault, and where it is to be found."""
    lines, found = [], set()
    for number, line in enumerate(_lines(text, without="right only", marks=True), start=1):
        mark = _MARK.search(line)
        for rule in re.findall(r"GL\d{3}", mark["rules"] or "") if mark else ():
            found.add((rule, number))
        lines.append(_MARK.sub("", line))
    assert found, "no line of the faulty program is marked"
    return "\n".join(lines), found


def _lines(text: str, *, without: str, marks: bool = False) -> Iterable[str]:
    for line in text.splitlines():
        mark = _MARK.search(line)
        if not (mark and mark["only"] == without):
            yield line if marks else _MARK.sub("", line)


def check(text: str, *, path: str = "train.py") -> Checked:
    """All that the checker says of a program that stands in no project."""
    return check_source(Source(path, text), Project(()))


def check_file(path: Path, root: Path | None = None) -> Checked:
    """All that the checker says of a file among others."""
    source = Source(str(path), path.read_text(encoding="utf-8"))
    return check_source(source, Project((str(root or path.parent),)))


def shown(checked: Checked) -> Found:
    """What a person sees who asks for nothing special."""
    return {
        (finding.rule, finding.at.line)
        for finding in checked.findings
        if finding.certainty != "possible"
    }


def everything(checked: Checked) -> Found:
    """The same, and what is only possible."""
    return {(finding.rule, finding.at.line) for finding in checked.findings}


def finds(checked: Checked, expected: Found) -> bool:
    """Is this found, and nothing else shown? Who clears and who spends may well be in doubt."""
    doubted = {(rule, line) for rule, line in expected if rule in ("GL101", "GL201")}
    return shown(checked) | (doubted & everything(checked)) == expected


def each(
    programs: Mapping[str, str], *, after: str = "", wrong: Mapping[str, str] | None = None
) -> pytest.MarkDecorator:
    """A test for each program, with what comes before it in all of them.

    `wrong` says why the checker is known to be wrong about some.
    """
    known = dict(wrong or {})
    cases = []
    for name, text in programs.items():
        why = known.pop(name, None)
        marks = [pytest.mark.xfail(strict=True, reason=why)] if why else []
        cases.append(pytest.param(after + dedent(text), id=name, marks=marks))
    assert not known, f"no such programs: {sorted(known)}"
    return pytest.mark.parametrize("text", cases)
