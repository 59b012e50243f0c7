"""Folders that pass for checkouts of gradledger, and say what a test wants them to say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.public_code.checkouts import Checked, Found, Place, Unfollowed


def checkout(folder: Path, program: str) -> Path:
    """A tree whose `python -m gradledger` is the program."""
    package = folder / "src" / "gradledger"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(program, encoding="utf-8")
    return folder


def saying(folder: Path, report: dict[str, Any]) -> Path:
    """A tree that prints the report, whatever it is given."""
    return checkout(folder, f"print({json.dumps(report)!r})")


def report(*findings: dict[str, Any], unknown: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    stats = {"files": 1, "followed": 2, "unshown": 3}
    return {"findings": list(findings), "unknown": list(unknown), "stats": stats}


def row(rule: str, line: int, certainty: str = "certain") -> dict[str, Any]:
    return {
        "rule": rule,
        "path": "train.py",
        "cell": None,
        "line": line,
        "severity": "error",
        "certainty": certainty,
        "message": "what",
        "detail": "how",
    }


def repository(folder: Path, name: str, text: str = "", commit: str = "") -> Path:
    """A repository with one file, train.py."""
    path = folder / name
    path.mkdir(parents=True)
    (path / "train.py").write_text(text, encoding="utf-8")
    if commit:
        (path / "COMMIT").write_text(f"{commit}\n", encoding="utf-8")
    return path


def found(
    rule: str,
    line: int,
    *,
    certainty: str = "certain",
    severity: str = "error",
    path: str = "train.py",
    cell: int | None = None,
) -> Found:
    return Found(rule, Place("a__b", path, line, cell), severity, certainty, "what")


def checked(*findings: Found, unknown: tuple[Unfollowed, ...] = (), **rest: Any) -> Checked:
    return Checked("a__b", findings, unknown, **rest)


def unfollowed(what: str, why: str, line: int = 1) -> Unfollowed:
    return Unfollowed(Place("a__b", "train.py", line), what, why)
