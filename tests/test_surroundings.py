"""What every test relies on, wherever the suite was started."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INTERRUPTED = "import signal; signal.raise_signal(signal.SIGINT)"


def test_an_interrupt_interrupts() -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_interrupts_where_the_suite_was_started_in_the_background_too() -> None:
    program = f"""
import subprocess, sys
import tests.conftest
ended = subprocess.run([sys.executable, "-c", {INTERRUPTED!r}], stderr=subprocess.PIPE)
sys.exit(ended.returncode != -{int(signal.SIGINT)})
"""
    ignored = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-c"]
    assert subprocess.run([*ignored, INTERRUPTED], cwd=ROOT).returncode == 0  # it is ignored there
    assert subprocess.run([*ignored, program], cwd=ROOT).returncode == 0
