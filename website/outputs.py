"""Runs what the pages show: `python -m website.outputs` writes website/outputs.

With `--check` it runs everything anew, writes nothing, and fails where something else is printed.
Words behind it pick the commands that contain one of them.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from difflib import unified_diff
from pathlib import Path

from website.directives import directives, slug
from website.layout import OUTPUTS, PAGES, PROGRAMS, ROOT

SECONDS = 300


def commands() -> list[str]:
    """Every command that a page shows, once."""
    found: dict[str, None] = {}
    for page in sorted(PAGES.rglob("*.md")):
        for kind, what in directives(page.read_text(encoding="utf-8")):
            if kind == "run":
                found[what] = None
    return list(found)


def printed_by(command: str) -> str:
    """Runs it where the programs are, and returns what a person sees in the terminal."""
    words = shlex.split(command)
    stdin = None
    if "<" in words:
        where = words.index("<")
        stdin = (PROGRAMS / words[where + 1]).read_text(encoding="utf-8")
        words = words[:where]
    launch = {"python": [], "gradledger": ["-m", "gradledger"]}[words[0]]
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "COLUMNS": "88",
        "NO_COLOR": "1",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
    }
    with tempfile.TemporaryDirectory() as folder:
        here = shutil.copytree(PROGRAMS, Path(folder) / "programs")
        done = subprocess.run(
            [sys.executable, *launch, *words[1:]],
            cwd=here,
            env=environ,
            input=stdin or "",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
        )
    return done.stdout.replace(f"{here}/", "")


def main() -> int:
    """Writes or checks the outputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("words", nargs="*", help="only commands with one of these in them")
    args = parser.parse_args()
    status = 0
    OUTPUTS.mkdir(exist_ok=True)
    wanted = {f"{slug(command)}.txt" for command in commands()}
    for path in OUTPUTS.iterdir():
        if path.name not in wanted:
            print(f"No page shows {path.name}", file=sys.stderr)
            status = 1 if args.check else status
            if not args.check:
                path.unlink()
    for command in commands():
        if args.words and not any(word in command for word in args.words):
            continue
        path = OUTPUTS / f"{slug(command)}.txt"
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        now = printed_by(command)
        if now == before:
            continue
        lines = unified_diff(before.splitlines(), now.splitlines(), path.name, command, lineterm="")
        print("\n".join(lines))
        if args.check:
            status = 1
        else:
            path.write_text(now, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
