"""Launches what it is told to, as `gradledger run` does, with an auditor who has no torch."""

from __future__ import annotations

import os
import sys

from gradledger.runtime.launch.run_program import launch
from gradledger.runtime.launch.targets import find_target


class Onlooker:
    """Says when the program has ended, and how."""

    def begin(self) -> None:
        os.write(2, b"VERDICT: torch is there\n")

    def begin_late(self) -> None:
        os.write(2, b"VERDICT: torch was there already\n")

    def conclude(self, *, passed: bool, error: BaseException | None) -> int:
        how = "passed" if passed else "failed"
        died = f", died of {type(error).__name__}" if error else ""
        os.write(2, f"VERDICT: {how}{died}\n".encode())
        return int(os.environ.get("STATUS_IF_PASSED", "0"))


if __name__ == "__main__":
    module = sys.argv[1] == "-m"
    target = find_target(sys.argv[1 + module :], module=module)
    sys.exit(launch(target, Onlooker(), at_sigterm="AT_SIGTERM" in os.environ))
