"""What programs did when they were last observed: `observed(path)`.

To observe all examples takes a minute, and tells the same each time. So it is kept, in a folder
that `make clean` removes, and observed anew when anything that it depends on has changed.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

import torch

from tests.observer.observation import Observation, observe
from tests.observer.ranks import observe_ranks

ROOT = Path(__file__).parents[2]
OURS = ROOT / "src" / "gradledger"
FOLDER = ROOT / "build" / "observed"
DIGEST = sha256().digest_size


def observed(program: Path, *, ranks: int = 1, folder: Path = FOLDER) -> list[Observation]:
    """What each rank of a program did.

    Of an error, only its words are kept, and of the program's names nothing.
    """
    program = program.resolve()
    kept, wanted = folder / f"{program.parent.name}-{program.stem}", _depends_on(program, ranks)
    found = _read(kept, wanted)
    if found is None:
        found = _plain([observe(program)] if ranks == 1 else observe_ranks(program, ranks))
        _write(kept, wanted, found)
    return found


def _plain(seen: list[Observation]) -> list[Observation]:
    return [
        Observation(one.events, one.error and RuntimeError(repr(one.error)), one.output, {})
        for one in seen
    ]


def _depends_on(program: Path, ranks: int) -> bytes:
    """Stands for all that can change what is observed."""
    source = program.read_bytes()
    parts = [f"{program} on {ranks}".encode(), source, _observer()]
    if b"gradledger" in source:  # it trains with a Stepper
        parts.append(_contents(OURS))
    return sha256(b"".join(sha256(part).digest() for part in parts)).digest()


@cache
def _observer() -> bytes:
    parts = [f"{sys.version} {torch.__version__}".encode()]
    parts += [(ROOT / "constraints.txt").read_bytes()]  # the versions of all else
    parts += [_contents(ROOT / "tests" / "observer"), _contents(OURS / "ledger")]
    parts += [path.read_bytes() for path in sorted((ROOT / "tests").glob("torchrun*.py"))]
    return sha256(b"".join(sha256(part).digest() for part in parts)).digest()


@cache
def _contents(folder: Path) -> bytes:
    def each() -> Iterator[bytes]:
        for path in sorted(folder.rglob("*.py")):
            yield str(path.relative_to(folder)).encode()
            yield path.read_bytes()

    return sha256(b"".join(sha256(part).digest() for part in each())).digest()


def _read(kept: Path, wanted: bytes) -> list[Observation] | None:
    """None where it is not there, depends on something else, or is damaged."""
    try:
        text = kept.read_bytes()
    except OSError:
        return None
    depends_on, digest, told = text[:DIGEST], text[DIGEST : 2 * DIGEST], text[2 * DIGEST :]
    if depends_on != wanted or digest != sha256(told).digest():
        return None
    found: list[Observation] = pickle.loads(told)
    return found


def _write(kept: Path, wanted: bytes, seen: list[Observation]) -> None:
    told = pickle.dumps(seen)
    kept.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=kept.parent, delete=False) as file:
        file.write(wanted + sha256(told).digest() + told)
    os.replace(file.name, kept)  # whole, whoever else reads or writes it
