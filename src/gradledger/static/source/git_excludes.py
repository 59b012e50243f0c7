"""What git ignores in a folder for reasons that are written down above it."""

from __future__ import annotations

import os

from gradledger.static import budget
from gradledger.static.source.files import Trouble, read_bytes
from gradledger.static.source.gitignore import FOLDER, Ignores, read_ignores

Scopes = list[tuple[Ignores, str]]
"""Patterns, outermost first, each with the path by which they know the folder that is searched."""


def ignores_above(folder: str) -> Scopes:
    """The ignore files of the repository above this real path, outermost first.

    Each comes with the folder's path as that file sees it. Where the folder itself is ignored,
    there are none: whoever names it wants to see into it.
    """
    top = _top(folder)
    if top is None:
        return []
    steps = [] if folder == top else os.path.relpath(folder, top).split(os.sep)
    scopes: Scopes = []
    exclude = read_ignores(os.path.join(_git_folder(top), "info", "exclude"))
    if exclude:
        scopes.append((exclude, ""))
    at = top
    for step in steps:
        if (own := read_ignores(os.path.join(at, ".gitignore"))) is not None:
            scopes.append((own, ""))
        at = os.path.join(at, step)
        if is_ignored(scopes, step + FOLDER):
            return []
        scopes = [(ignores, f"{prefix}{step}/") for ignores, prefix in scopes]
    return scopes


def is_ignored(scopes: Scopes, name: str) -> bool:
    """The innermost file that says something about a path decides."""
    for ignores, prefix in reversed(scopes):
        ignored = ignores.verdict(prefix + name)
        if ignored is not None:
            return ignored
    return False


def _top(folder: str) -> str | None:
    """The repository's folder; None outside of any."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def _git_folder(top: str) -> str:
    """Where git keeps its own files: of a worktree, what is common to all of them."""
    git = os.path.join(top, ".git")
    said = _first_line(git)  # a file in worktrees and submodules
    if said is None:
        return git
    git = os.path.join(top, said.removeprefix("gitdir:").strip())
    common = _first_line(os.path.join(git, "commondir"))
    return git if common is None else os.path.join(git, common.strip())


def _first_line(path: str) -> str | None:
    data = read_bytes(path, most=budget.LONGEST_GIT_PATH)
    return None if isinstance(data, Trouble) else os.fsdecode(data.partition(b"\n")[0])
