"""What each rank runs: observes the program, and writes down what it saw."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

from tests.observer.observation import observe


def main(path: str, folder: str) -> None:
    """Observe the program, for whoever started the ranks to read."""
    seen = observe(path)
    error = None if seen.error is None else repr(seen.error)
    kept = Path(folder, f"{os.environ['RANK']}.pickle")
    kept.write_bytes(pickle.dumps((seen.events, error, seen.output)))
    # The program's models are still there. To take them down after their process group waits, now
    # and then, for a thread that waits for us.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
