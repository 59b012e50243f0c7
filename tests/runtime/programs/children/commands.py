"""Starts other Pythons by `subprocess`, with and without an environment of their own."""

import os
import subprocess
import sys
from pathlib import Path

WORKER = str(Path(__file__).with_name("worker.py"))

for environment in (None, dict(os.environ, NUMBER="2"), {"NUMBER": "3"}):
    done = subprocess.run([sys.executable, WORKER, "told"], env=environment, check=False)
    print(done.returncode)
print(os.waitstatus_to_exitcode(os.system(f"{sys.executable} {WORKER} by a shell")))
