"""Programs that say themselves what is to be found in them, and what the checker finds."""

from __future__ import annotations

import re
from pathlib import Path

from gradledger.ledger import Finding
from gradledger.static.check import check_source
from gradledger.static.project.project import Project
from gradledger.static.result import Checked
from gradledger.static.source.files import Source, read

_MARK = re.compile(r"# (GL\d{3})\b")

Found = set[tuple[int, str]]
"""Lines, and the rules that are broken there."""


def checked(path: Path) -> Checked:
    """What comes of checking a file alone."""
    source = read(str(path))
    assert isinstance(source, Source)
    return check_source(source, Project((str(path.parent),)))


def is_shown(finding: Finding) -> bool:
    """Do people see it without asking for more?"""
    return finding.certainty != "possible"


def shown(result: Checked) -> Found:
    """What people see."""
    return {(f.at.line, f.rule) for f in result.findings if is_shown(f)}


def marked(path: Path) -> Found:
    """What the program says of itself, in comments at the end of lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {(n, mark[1]) for n, line in enumerate(lines, start=1) if (mark := _MARK.search(line))}
