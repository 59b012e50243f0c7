"""What IPython runs and Python does not read: `%magics`, `!shell`, `help?`, other languages.

Every line stays where it is. What is no Python becomes `pass`, so that a block that has nothing
else in it is still a block; code that a magic only times is kept.
"""

from __future__ import annotations

import re

from gradledger.static.source.logical_lines import Reader
from gradledger.static.source.parsing import NotPython, tree

_KEEP = frozenset(
    {"time", "timeit", "capture", "prun", "memit", "mprun", "lprun", "snakeviz", "pyinstrument",
     "scalene", "heat", "wandb", "notify", "debug", "gradledger"}
)  # fmt: skip
_FOREIGN = frozenset(
    {"bash", "sh", "cmd", "powershell", "script", "system", "sx", "!", "html", "HTML", "svg", "SVG",
     "javascript", "js", "latex", "markdown", "md", "perl", "ruby", "R", "julia", "sql", "bigquery",
     "writefile", "file", "cython", "python2", "skip", "configure", "ai"}
)  # fmt: skip
_CELL_MAGIC = re.compile(r"%%(\w+|!)")
_ESCAPED = re.compile(r"[%!?,;/]")
_TIMED = re.compile(r"%(?:time|timeit|prun|memit)\b(?:\s+-\w+(?:\s+\d+)?)*\s+(?=\S)")
_HELP = re.compile(r"[%\w.*\[\]]+\?{1,2}\s*(?:#.*)?$")
_ASSIGNED = re.compile(r"([^=!%#'\"]*[^=!<>%#'\"\s]\s*=\s*)(?:!|%\w)")
_COMMAND = re.compile(r"(?:pip3?|conda|mamba|cd|ls|cat|cp|mv|rm|mkdir|rmdir|wget|git)\s+[\w./~-]")
_SUSPECT = re.compile(
    r"^[ \t]*(?:[%!?,;/]|(?:pip|conda|mamba|cd|ls|cat|cp|mv|rm|mk|wget|git)\w*\s)"
    r"|\?[ \t]*(?:#.*)?$|=[ \t]*[%!]",
    re.MULTILINE,
)


def neutralised(lines: list[str]) -> list[str]:
    """The lines of a cell as Python can read them: as many as there were."""
    lines = list(lines)
    code = 0
    doubtful = None
    """Where the last magic stands that may have another language below it."""
    while (first := _next_said(lines, code)) is not None:
        _outdent(lines, code, first)
        cell = _CELL_MAGIC.match(lines[first])
        if cell is None:
            break
        if cell[1] in _FOREIGN:
            _blank(lines, code)
            return lines
        if cell[1] not in _KEEP:
            doubtful = code
        lines[first] = "pass"
        code = first + 1
    if _SUSPECT.search("\n".join(lines[code:])):
        lines[code:] = _without_line_magics(lines[code:])
    if doubtful is not None and not _is_python("\n".join(lines[code:])):
        _blank(lines, doubtful)
    return lines


def _next_said(lines: list[str], start: int) -> int | None:
    """The first line from there on that is not blank."""
    return next((n for n in range(start, len(lines)) if lines[n].strip()), None)


def _outdent(lines: list[str], start: int, first: int) -> None:
    """IPython takes from all lines the indent of the first."""
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip(" \t"))]
    if indent:
        lines[start:] = [line.removeprefix(indent) for line in lines[start:]]


def _blank(lines: list[str], start: int) -> None:
    lines[start:] = [""] * (len(lines) - start)


def _without_line_magics(lines: list[str]) -> list[str]:
    reader = Reader()
    kept = []
    swallowing = False  # the rest of a shell command that goes on over several lines
    for line in lines:
        goes_on = line.endswith("\\")
        if swallowing:
            kept.append("")
            swallowing = goes_on
            continue
        python = _python(line) if reader.at_start else line
        if python is not line:
            swallowing = goes_on
        reader.feed(python)
        kept.append(python)
    return kept


def _python(line: str) -> str:
    """The line itself where it is Python, else what stands for it."""
    code = line.lstrip()
    indent = line[: len(line) - len(code)]
    timed = _TIMED.match(code)
    if timed and _is_python(code[timed.end() :]):
        return indent + code[timed.end() :]
    if _ESCAPED.match(code) or _HELP.match(code):
        return f"{indent}pass"
    assigned = _ASSIGNED.match(code)
    if assigned:
        return f"{indent}{assigned[1]}get_ipython()"
    if _COMMAND.match(code) and not _is_python(code):
        return f"{indent}pass"
    return line


def _is_python(code: str) -> bool:
    try:
        tree(code)
    except NotPython:
        return False
    return True
