"""Opens a recording for reading, or says what is wrong with it and what to do."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gradledger.errors import RecordingError
from gradledger.recording.schema import APPLICATION_ID, VERSION

MAGIC = b"SQLite format 3\0"
_MAKE_ONE = "Recordings are made with `gradledger run --record run.gradledger train.py`."


def open_recording(path: Path, cleanup: contextlib.ExitStack) -> sqlite3.Connection:
    """A read-only connection to a recording, after checking that this version can read it."""
    _look_at_the_file(path)
    with damage(path):
        connection = _connect(path, cleanup)
        _look_at_the_identity(path, connection)
    return connection


@contextlib.contextmanager
def damage(path: Path, *, spare: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Turns errors from reading a damaged file into a clear message."""
    try:
        yield
    except spare:
        raise
    except (sqlite3.Error, ValueError, TypeError, LookupError, OverflowError) as error:
        raise RecordingError(
            f"{path} is damaged: {error}. Part of it was overwritten or cut off after it was "
            "written. Copy it again from where it was recorded, or record the run again."
        ) from error


def _look_at_the_file(path: Path) -> None:
    try:
        with open(path, "rb") as file:
            start = file.read(len(MAGIC))
    except FileNotFoundError:
        raise RecordingError(f"{path} does not exist. {_MAKE_ONE}") from None
    except IsADirectoryError:
        raise RecordingError(f"{path} is a directory. Name one of the recordings in it.") from None
    except PermissionError:
        raise RecordingError(
            f"{path} may not be read by this user. Ask its owner, or change it with `chmod a+r`."
        ) from None
    except OSError as error:
        raise RecordingError(
            f"{path} can't be read: {error.strerror}. See that its disk is there and well."
        ) from error
    if not start:
        raise _unfinished(path)
    if start != MAGIC:
        raise RecordingError(
            f"{path} is not a recording: it does not start like a SQLite file. {_MAKE_ONE}"
        )


def _look_at_the_identity(path: Path, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not tables and application in (0, APPLICATION_ID):
        raise _unfinished(path)
    if application != APPLICATION_ID:
        raise RecordingError(
            f"{path} is not a recording: it is a SQLite file of another program. {_MAKE_ONE}"
        )
    if version > VERSION:
        raise RecordingError(
            f"{path} was written by a newer gradledger: its schema has version {version}, this "
            f"one reads up to {VERSION}. Upgrade with `pip install --upgrade gradledger`."
        )
    # Now, and not in the middle of a report. It costs less than reading the file once.
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise ValueError(verdict)


def _unfinished(path: Path) -> RecordingError:
    return RecordingError(
        f"{path} is empty: the run was stopped before anything was recorded. If a {path.name}-wal "
        "was left where it comes from, copy that along; else record the run again."
    )


def _connect(path: Path, cleanup: contextlib.ExitStack) -> sqlite3.Connection:
    uri = path.absolute().as_uri()
    try:
        return _tried(sqlite3.connect(f"{uri}?mode=ro", uri=True), cleanup)
    except sqlite3.OperationalError:
        # A killed writer leaves work over (-wal, -journal) that SQLite finishes in place, for which
        # it must write. In a directory where it may not, a copy is finished instead. `immutable=1`
        # would open, too, but without the left-over work: most of a short run.
        return _tried(sqlite3.connect(_copy(path, cleanup)), cleanup)


def _tried(connection: sqlite3.Connection, cleanup: contextlib.ExitStack) -> sqlite3.Connection:
    cleanup.callback(connection.close)
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return connection


def _copy(path: Path, cleanup: contextlib.ExitStack) -> Path:
    directory = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="gradledger-")))
    for suffix in ("", "-wal", "-journal"):
        if os.path.exists(f"{path}{suffix}"):
            shutil.copyfile(f"{path}{suffix}", directory / f"{path.name}{suffix}")
    return directory / path.name
