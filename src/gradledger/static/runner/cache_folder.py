"""Where the cache is kept: in the user's own folder, because one inside a project comes with it."""

from __future__ import annotations

import contextlib
import os
import stat
import sys

_TAG = """\
Signature: 8a477f597d28d172789f06886806bc55
# This folder holds what `gradledger check` remembers. It can be deleted at any time.
"""
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class CacheProblem(Exception):
    """The cache must not be used. The message says why, without a full stop."""


def cache_folder() -> str:
    """`gradledger` in XDG_CACHE_HOME, or where this platform keeps the caches of a user."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(home):  # the specification says to ignore relative paths
        home = _platform_folder()
    return os.path.join(home, "gradledger")


def _platform_folder() -> str:
    if sys.platform == "win32":
        return os.environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches")
    return os.path.expanduser("~/.cache")


def project_of(start: str = ".") -> str:
    """The folder with the nearest pyproject.toml above `start`, or the working directory."""
    at = os.path.abspath(start)
    while not os.path.isfile(os.path.join(at, "pyproject.toml")):
        above = os.path.dirname(at)
        if above == at:
            return os.path.abspath(".")
        at = above
    return at


def is_inside(path: str, folder: str) -> bool:
    """Whether a file is in this folder or below it. Both are real paths."""
    return path == folder or path.startswith(os.path.join(folder, ""))


def check_folder(folder: str, project: str) -> None:
    """Raises CacheProblem for a folder that anyone but this user can have filled."""
    real = os.path.realpath(project)
    # A project that holds the user's home folder was not sent to them by anyone.
    if is_inside(os.path.realpath(folder), real) and not is_inside(_home(), real):
        raise CacheProblem("it is inside the project, so it may have come with it")
    try:
        found = os.lstat(folder)
    except (OSError, ValueError):
        return  # there is nothing in it to trust
    if not stat.S_ISDIR(found.st_mode):
        raise CacheProblem("it is not a folder")
    check_owner(found)


def check_owner(found: os.stat_result) -> None:
    """Raises CacheProblem if someone else owns it or may write to it. POSIX only."""
    if not hasattr(os, "geteuid"):
        return
    if found.st_uid != os.geteuid():
        raise CacheProblem("it belongs to another user")
    if found.st_mode & _OTHERS_WRITE:
        raise CacheProblem("other users may write to it")


def make_folder(folder: str) -> None:
    """Creates it for this user alone, marked for backups as a cache."""
    if os.path.isdir(folder):
        return
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    os.mkdir(folder, 0o700)
    with contextlib.suppress(OSError), open(os.path.join(folder, "CACHEDIR.TAG"), "x") as file:
        file.write(_TAG)


def _home() -> str:
    """The user's home folder; not by HOME alone, which a sandbox may point at the project."""
    try:
        import pwd
    except ImportError:
        return os.path.realpath(os.path.expanduser("~"))
    try:
        return os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:  # a container with a user that has no entry
        return os.path.realpath(os.sep + "nonexistent")
