"""The peers: what each is called, what pip installs, and where.

`python -m benchmarks.peers` installs them one by one. One that can't be had does not stop the
others; why it can't is kept as a sentence, and stands where its numbers would.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
REASONS = Path(sys.prefix) / "missing-peers.json"
"""Why a peer is not there, by its name."""


class Absent(Exception):
    """A peer that is not there, and why."""


@dataclass(frozen=True)
class Peer:
    """Something that people use today.

    It is installed next to gradledger, or, where it `stands_alone` since it asks for other versions
    than we do, in an environment of its own. `newest` is the last Python that it works with.
    """

    name: str
    requirement: str
    stands_alone: bool = False
    newest: tuple[int, int] | None = None

    @property
    def package(self) -> str:
        """As pip calls it."""
        return self.requirement.partition("==")[0]

    @property
    def environment(self) -> Path:
        """Where it is installed."""
        return ROOT / f".venv-bench-{self.package}" if self.stands_alone else Path(sys.prefix)

    @property
    def version(self) -> str | None:
        """The installed one; None where it is not there."""
        return self._version_of(self.package)

    def _version_of(self, package: str) -> str | None:
        paths = [str(path) for path in self.environment.glob("lib/python*/site-packages")]
        found = next(iter(metadata.distributions(name=package, path=paths)), None)
        return found.version if found else None

    def torch(self) -> str:
        """The torch that it runs with."""
        return (self._version_of("torch") or "none").partition("+")[0]

    def command(self, name: str) -> Path:
        """A program of its environment."""
        if why := self.why_not():
            raise Absent(why)
        return self.environment / "bin" / name

    def why_not(self) -> str:
        """Why it is not there, in a sentence; empty where it is."""
        if self.version:
            return ""
        reasons = json.loads(REASONS.read_text(encoding="utf-8")) if REASONS.exists() else {}
        return str(reasons.get(self.name, "not installed; make bench does that"))


TRAINCHECK = Peer("TrainCheck", "traincheck==0.2.0", stands_alone=True)
TORCHFIX = Peer("TorchFix", "torchfix==0.7.0", stands_alone=True)
DSLINTER = Peer("dslinter", "dslinter==2.0.9", stands_alone=True, newest=(3, 10))
RUFF = Peer("ruff", "ruff")
PEERS = (
    Peer("Accelerate", "accelerate"),
    Peer("Lightning", "lightning"),
    Peer("HF Trainer", "transformers"),
    Peer("ignite", "pytorch-ignite"),
    RUFF,
    TORCHFIX,
    DSLINTER,
    TRAINCHECK,
)
"""Those without a version here have it in constraints.txt."""


def main() -> int:
    """Installs what is not there yet, and says what can't be had."""
    reasons = {}
    for peer in PEERS:
        try:
            install(peer)
            print(f"{peer.name} {peer.version}", flush=True)
        except Absent as why:
            reasons[peer.name] = str(why)
            print(f"{peer.name}: {why}", flush=True)
    REASONS.write_text(json.dumps(reasons, indent=1), encoding="utf-8")
    return 0


def install(peer: Peer) -> None:
    """Into its environment, which is made where it is missing."""
    if peer.version and peer.version == peer.requirement.partition("==")[2]:
        return
    python = peer.environment / "bin" / "python"
    if not python.exists():
        _run([_interpreter(peer.newest), "-m", "venv", str(peer.environment)])
    # What needs an old Python needs versions of everything that are as old.
    ours = [] if peer.newest else ["--constraint", str(CONSTRAINTS)]
    _run([str(python), "-m", "pip", "install", "--quiet", *ours, peer.requirement])


def _interpreter(newest: tuple[int, int] | None) -> str:
    """A Python that is not too new."""
    if newest is None or sys.version_info[:2] <= newest:
        return sys.executable
    for minor in range(newest[1], 6, -1):
        # pyenv has a command for every version, and starts the one that it is told.
        told = os.environ | {"PYENV_VERSION": f"3.{minor}"}
        where = [f"python3.{minor}", "-c", "import sys; print(sys.executable)"]
        if shutil.which(where[0]):
            found = subprocess.run(where, env=told, capture_output=True, text=True)
            if found.returncode == 0:
                return found.stdout.strip()
    raise Absent(f"needs Python {newest[0]}.{newest[1]} or older, and there is none here")


def _run(command: list[str]) -> None:
    # Without make's constraints, which pip would also take from the environment.
    env = {k: v for k, v in os.environ.items() if not k.endswith("CONSTRAINT")}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        raise Absent(f"can't be installed: {_reason(done.stderr)}")


def _reason(said: str) -> str:
    """The first of pip's errors, in one line."""
    errors = [line for line in said.splitlines() if "rror:" in line or line.startswith("ERROR")]
    words = " ".join((errors or said.splitlines() or ["without a word"])[0].split())
    return words.removeprefix("ERROR: ").removeprefix("error: ")


if __name__ == "__main__":
    sys.exit(main())
