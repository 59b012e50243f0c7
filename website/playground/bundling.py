"""Makes what the playground's page loads: its script, its worker, Pyodide, the package, examples.

esbuild bundles src/ with what npm brings, whenever it was made from other sources. Without npm
there is no playground, and the site is built all the same.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

from website.layout import ROOT
from website.playground.examples import examples
from website.playground.packing import packed

HERE = Path(__file__).parent
BUNDLE = ROOT / "build" / "playground"
MADE_FROM = "made_from.txt"
PLAYER = ROOT / "web" / "src" / "player"


def why_not() -> str:
    """Why there can be no playground; empty where there can."""
    missing = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    return f"{' and '.join(missing)} missing (Node.js 20 or newer has both)" if missing else ""


def bundle(into: Path) -> str:
    """Fills the folder; or says why it can't be done, and leaves no folder."""
    why = why_not() or _made()
    if why:
        return why
    shutil.copytree(BUNDLE, into, ignore=shutil.ignore_patterns(MADE_FROM))
    (into / "gradledger.zip").write_bytes(packed())
    listed = [example._asdict() for example in examples()]
    (into / "examples.json").write_text(json.dumps(listed), encoding="utf-8")
    return ""


def _made() -> str:
    mark = BUNDLE / MADE_FROM
    if mark.exists() and mark.read_text(encoding="utf-8") == _fingerprint():
        return ""
    shutil.rmtree(BUNDLE, ignore_errors=True)
    BUNDLE.mkdir(parents=True)
    why = _installed() or _run("node", "build.mjs", str(BUNDLE))
    if not why:  # the mark is the last thing written: what is interrupted is done again
        mark.write_text(_fingerprint(), encoding="utf-8")
    return why


def _installed() -> str:
    lock, installed = HERE / "package-lock.json", HERE / "node_modules" / ".package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime:
        return ""
    return _run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress")


def _run(tool: str, *args: str) -> str:
    done = subprocess.run(
        [shutil.which(tool) or tool, *args],
        cwd=HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if not done.returncode:
        return ""
    print(done.stdout, file=sys.stderr)
    return f"`{tool} {args[0]}` failed with status {done.returncode}"


def _fingerprint() -> str:
    found = hashlib.sha256()
    sources = [HERE / "package-lock.json", HERE / "build.mjs"]
    for folder in (HERE / "src", PLAYER):
        sources += sorted(path for path in folder.rglob("*") if path.is_file())
    for path in sources:
        found.update(f"{path.name}\0".encode())
        found.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return found.hexdigest()
