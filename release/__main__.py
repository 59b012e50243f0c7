"""Builds the sdist and the wheel into dist/, checks both, and tries the wheel on each Python.

`python -m release` does all of it; `--no-smoke` stops before the wheel is tried.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from release.packages import ADDRESS, ROOT, build
from release.pythons import pythons
from release.smoke import smoke


def main() -> int:
    """0 if everything passed."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument(
        "--with-torch", type=os.path.abspath, metavar="PYTHON", help="a Python that has PyTorch"
    )
    parser.add_argument("--no-smoke", action="store_true", help="build and check only")
    options = parser.parse_args()

    address = os.environ.get("GRADLEDGER_REPOSITORY", ADDRESS)
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    print("building the sdist and the wheel …", flush=True)
    sdist, wheel = build(dist, address)
    for path in (sdist, wheel):
        print(f"  {path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.1f} MB")
    print(f"  links lead to {address}" if address else "  no address of a repository: no links")
    twine = [sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel)]
    status = subprocess.run(twine).returncode
    if status or options.no_smoke:
        return status
    return _tried(wheel, options.with_torch)


def _tried(wheel: Path, torch: str | None) -> int:
    status = 0
    for version, python in pythons():
        if python is None:
            print(f"Python {version}: not here, so not tried", flush=True)
            continue
        status |= _report(f"Python {version}, without torch", smoke(wheel, python))
    if torch is None:
        print("with torch: no Python was named that has it, so not tried")
        return status
    return status | _report("with torch", smoke(wheel, torch, torch=True))


def _report(what: str, failure: str | None) -> int:
    print(f"{what}: {'passed' if failure is None else 'FAILED'}", flush=True)
    if failure:
        print(failure)
    return int(failure is not None)


if __name__ == "__main__":
    raise SystemExit(main())
