"""`[tool.gradledger.run]`: a project's default options for `gradledger run`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from gradledger.policy.configuration import Configuration, ConfigurationError, nearest

TABLE = "[tool.gradledger.run]"
PATHS = ("output", "record", "html", "tensorboard", "summary")
"""Options whose values are paths relative to pyproject.toml."""
TEXTS = ("format", "fail-on", "log", *PATHS)
LISTS = ("select", "ignore")
FLAGS = ("live", "quiet")
NUMBERS = ("sample",)
KEYS = (*TEXTS, *LISTS, *NUMBERS, *FLAGS)


def configured(given: Sequence[str]) -> list[str]:
    """The project's options as command-line arguments, without those that are given there."""
    said = nearest(os.getcwd())
    named = {word.partition("=")[0] for word in given} | ({"--quiet"} if "-q" in given else set())
    words: list[str] = []
    for key, value in said.run:
        own = list(_words(key, value, said))
        if f"--{key}" not in named:
            words += own
    return words


def _words(key: str, value: object, said: Configuration) -> Iterator[str]:
    what = f"{said.path}: {key} in {TABLE}"
    if key in FLAGS and isinstance(value, bool):
        yield from [f"--{key}"] * value
    elif key in NUMBERS and isinstance(value, int) and not isinstance(value, bool):
        yield f"--{key}={value}"
    elif key in LISTS and isinstance(value, list) and all(isinstance(v, str) for v in value):
        yield from (f"--{key}={one}" for one in value)
    elif key in TEXTS and isinstance(value, str):
        path = os.path.normpath(os.path.join(said.folder, value))
        yield f"--{key}={path if key in PATHS else value}"
    elif key in KEYS:
        raise ConfigurationError(f"{what} must be {_kind(key)}, got {value!r}.")
    else:
        raise ConfigurationError(f"{what}: there is no such key. There are {', '.join(KEYS)}.")


def _kind(key: str) -> str:
    if key in FLAGS:
        return "true or false"
    if key in NUMBERS:
        return "a whole number"
    return "a list of strings" if key in LISTS else "a string"
