"""Runs code in a Python that lacks what only POSIX has: `python -m tests.without_posix CODE`.

What Python itself and torch have loaded by then keeps it: they know Windows. This tells nothing
about paths, consoles or locks there; only that no module of ours needs what Windows doesn't have.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import multiprocessing.connection
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from types import ModuleType

MODULES = (
    *("_posixsubprocess", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource"),
    *("syslog", "termios", "tty"),
)
FUNCTIONS: dict[ModuleType, tuple[str, ...]] = {
    os: (
        *("WEXITSTATUS", "WIFEXITED", "WIFSIGNALED", "WTERMSIG", "chown", "fchmod", "fork"),
        *("forkpty", "getegid", "geteuid", "getgid", "getpgid", "getpgrp", "getuid", "killpg"),
        *("mkfifo", "pread", "pwrite", "register_at_fork", "sched_getaffinity", "setpgid"),
        *("setsid", "sysconf", "ttyname", "uname", "wait", "waitid", "O_NOCTTY", "O_NONBLOCK"),
    ),
    select: ("epoll", "poll"),
    signal: (
        *("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGUSR1"),
        *("alarm", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "siginterrupt"),
        *("sigpending", "sigwait"),
    ),
}
LOADED = asyncio, contextlib, multiprocessing.connection, shutil, subprocess, tempfile
"""Of Python, what is made otherwise on each system."""


def main() -> None:
    """Imports the modules that are named, hides what POSIX has, and runs the code."""
    *modules, code = sys.argv[1:]
    for module in modules:
        importlib.import_module(module)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for module_, names in FUNCTIONS.items():
        for name in names:
            if hasattr(module_, name):
                delattr(module_, name)
    sys.platform = "win32"
    exec(compile(code, "<code>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    main()
