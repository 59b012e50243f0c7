"""Reading a checkpoint: all of it as it was written, or nothing."""

from __future__ import annotations

import os
import warnings
import zipfile
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, BinaryIO, cast

import torch

from gradledger.engine.checkpoint.sealing import FORMAT, SEAL, VERSION, checksum_of, reason, seal
from gradledger.errors import CheckpointError

ZIP = b"PK\3\4"


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What was written, with its header, on the CPU; or CheckpointError, which says what is wrong.

    Nothing is loaded from a file of which any byte has changed.
    """
    path = Path(path)
    try:
        with open(path, "rb") as file:
            _look_at_the_seal(path, file)
            content = _load(path, file)
    except FileNotFoundError:
        raise CheckpointError(f"{path} does not exist. Name a file that save() wrote.") from None
    except IsADirectoryError:
        raise CheckpointError(f"{path} is a directory. Name a checkpoint in it.") from None
    except PermissionError:
        raise CheckpointError(
            f"{path} may not be read by this user. Ask its owner, or change it with `chmod a+r`."
        ) from None
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{path} can't be read: {reason(error)}. See that its disk is there and well."
        ) from error
    _look_at_the_header(path, content)
    return cast(dict[str, Any], content)


def _look_at_the_seal(path: Path, file: BinaryIO) -> None:
    start = file.read(len(ZIP))
    if not start:
        raise CheckpointError(f"{path} is empty. Load another checkpoint: nothing is in this one.")
    if start != ZIP:
        raise CheckpointError(
            f"{path} is not a gradledger checkpoint: it does not start like one. Name a file that "
            "save() wrote."
        )
    body = file.seek(0, os.SEEK_END) - len(seal(0, 0))
    file.seek(max(body, 0))
    found = file.read()
    if not found.startswith(SEAL) and zipfile.is_zipfile(file):
        raise CheckpointError(
            f"{path} is not a gradledger checkpoint: it has no seal at its end. Name a file that "
            "save() wrote; load with torch.load what torch.save wrote."
        )
    if found != seal(body, checksum_of(file, body)):
        raise CheckpointError(
            f"{path} is damaged: part of it was overwritten or cut off after it was written. "
            "Nothing was loaded. Copy it again from where it was written, or load an older one."
        )


def _load(path: Path, file: BinaryIO) -> object:
    file.seek(0)
    try:
        with warnings.catch_warnings():
            # torch 2.15 tells that it looks at the indices of sparse tensors.
            warnings.filterwarnings("ignore", "Validating sparse tensor invariants")
            return torch.load(file, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except UnpicklingError as error:
        raise CheckpointError(
            f"{path} was not loaded: it holds objects, and making them could run code. None was "
            "run. A file like this was not written by save(): do not trust it."
        ) from error
    except Exception as error:  # the file is whole, so it is this torch that can't
        raise CheckpointError(
            f"{path} can't be read by torch {torch.__version__}: {error}. Read it with the torch "
            "that wrote it."
        ) from error


def _look_at_the_header(path: Path, content: object) -> None:
    header = content if isinstance(content, dict) else {}
    version = header.get("version")
    if header.get("format") != FORMAT or not isinstance(version, int):
        raise CheckpointError(
            f"{path} is not a gradledger checkpoint: it has another header. Name a file that "
            "save() wrote."
        )
    if version > VERSION:
        raise CheckpointError(
            f"{path} was made by a newer gradledger ({header.get('gradledger')}): its "
            f"format has version {version}, this one reads up to {VERSION}. Upgrade with "
            "`pip install --upgrade gradledger`."
        )
