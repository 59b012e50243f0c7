"""`python -m benchmarks`: measures, prints the tables, and keeps them as JSON.

Each suite has a process of its own: what one imports, patches or leaves in memory is not in the
way of the next, and one that fails does not stop the others.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.results import PUBLISHED, Results
from benchmarks.suites import NAMES


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the suites that are named, or all."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures gradledger next to what people use today.",
        epilog="`python -m benchmarks.publish` then writes docs/benchmarks.md.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, without the largest")
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="where the JSON goes (benchmarks/results)"
    )
    options = parser.parse_args(arguments)
    names = options.names or NAMES
    if unknown := [name for name in names if name not in NAMES]:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    if options.quick and options.output is None:
        parser.error("--quick is not for publishing: say with --output where the JSON is to go")
    output = options.output or PUBLISHED
    if len(names) == 1:
        run(names[0], quick=options.quick, output=output)
        return 0
    return each_by_itself(names, quick=options.quick, output=output)


def run(name: str, *, quick: bool, output: Path) -> None:
    """Measures, prints and keeps one suite."""
    print(f"\nMeasuring: {name}", flush=True)
    start = time.perf_counter()
    results: Results = import_module(f"benchmarks.suites.{name}").results(quick)
    print(f"\n# {results.title}\n{results.about}")
    for table in results.tables.values():
        print(f"\n{table}")
    kept = results.write(output)
    print(f"\n{name}: {time.perf_counter() - start:.0f} s, kept in {kept}", flush=True)


def each_by_itself(names: Sequence[str], *, quick: bool, output: Path) -> int:
    """One process after the other."""
    command = [sys.executable, "-m", "benchmarks", "--output", str(output)]
    if quick:
        command.append("--quick")
    failed = [name for name in names if subprocess.run([*command, name]).returncode]
    if failed:
        print(f"\nFailed, and nothing was kept of it: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
