"""Files that are whole or not there, and that never run code.

A checkpoint is what torch.save writes, and behind it a seal: the length and the checksum of all
that comes before. torch reads past the seal, so that torch.load opens checkpoints, too. It also
reads past the checksums of its own zip files: without a seal, a flipped bit is another weight.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import re
import secrets
import stat
import sys
import types
import zipfile
import zlib
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, BinaryIO, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

import gradledger
from gradledger.errors import CheckpointError

if sys.platform != "win32":
    import fcntl

FORMAT = "gradledger checkpoint"
VERSION = 1
SEAL = b"\ngradledger seal "
ZIP = b"PK\3\4"


def write(path: str | os.PathLike[str], content: Mapping[str, object]) -> None:
    """Put a checkpoint at `path`, whole; or raise CheckpointError and leave what was there.

    A link is followed. "format", "version", "gradledger" and "torch" are keys of the header.
    """
    header = {
        "format": FORMAT,
        "version": VERSION,
        "gradledger": gradledger.__version__,
        "torch": str(torch.__version__),
    }
    try:
        plain = _plain({**header, **content, **header}, "")
    except RecursionError:
        raise CheckpointError(
            f"{os.fspath(path)} was not written: what to save is nested too deep, or contains "
            "itself. Save it flatter."
        ) from None
    try:
        _replace(os.path.realpath(path), plain)
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{os.fspath(path)} was not written: {_reason(error)}. What was there before is as it "
            "was. Name a file in a directory that exists, may be written to, and has room."
        ) from error


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
            f"{path} can't be read: {_reason(error)}. See that its disk is there and well."
        ) from error
    _look_at_the_header(path, content)
    return cast(dict[str, Any], content)


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


# Reading ------------------------------------------------------------------------------------


def _look_at_the_seal(path: Path, file: BinaryIO) -> None:
    start = file.read(len(ZIP))
    if not start:
        raise CheckpointError(f"{path} is empty. Load another checkpoint: nothing is in this one.")
    if start != ZIP:
        raise CheckpointError(
            f"{path} is not a gradledger checkpoint: it does not start like one. Name a file that "
            "save() wrote."
        )
    body = file.seek(0, os.SEEK_END) - len(_seal(0, 0))
    file.seek(max(body, 0))
    seal = file.read()
    if not seal.startswith(SEAL) and zipfile.is_zipfile(file):
        raise CheckpointError(
            f"{path} is not a gradledger checkpoint: it has no seal at its end. Name a file that "
            "save() wrote; load with torch.load what torch.save wrote."
        )
    if seal != _seal(body, _checksum(file, body)):
        raise CheckpointError(
            f"{path} is damaged: part of it was overwritten or cut off after it was written. "
            "Nothing was loaded. Copy it again from where it was written, or load an older one."
        )


def _load(path: Path, file: BinaryIO) -> object:
    file.seek(0)
    try:
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


def _seal(length: int, checksum: int) -> bytes:
    return SEAL + f"{length:016x} {checksum:08x}\n".encode()


def _checksum(file: BinaryIO, length: int) -> int:
    # A digest costs two to four times as much, and would protect against malice: this is damage.
    file.seek(0)
    checksum = 0
    while length > 0 and (chunk := file.read(min(length, 1 << 20))):
        checksum = zlib.crc32(chunk, checksum)
        length -= len(chunk)
    return checksum


# Writing ------------------------------------------------------------------------------------


class _Sealing:
    """A file that torch.save writes to; knows the checksum, and what went wrong."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._length = self._checksum = 0
        self.failure: BaseException | None = None

    def write(self, data: memoryview | bytes) -> int:
        try:
            self._file.write(data)
            self._length += len(data)
            self._checksum = zlib.crc32(data, self._checksum)
        except BaseException as failure:
            self.failure = self.failure or failure
            raise
        return len(data)

    def seal(self) -> None:
        self._file.write(_seal(self._length, self._checksum))
        self._file.flush()
        os.fsync(self._file.fileno())

    def flush(self) -> None:
        self._file.flush()


def _replace(target: str, content: object) -> None:
    permissions = _permissions(target)
    _remove_left_overs(target)
    temporary, file = _open_temporary(target, 0o666 if permissions is None else permissions)
    try:
        with file:
            if permissions is not None:
                os.chmod(temporary, permissions)  # more than the umask let through
            _save(content, file)
            if sys.platform == "win32":
                file.close()  # Windows moves no open files; elsewhere, the lock must last till then
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_directory(os.path.dirname(target))


def _save(content: object, file: BinaryIO) -> None:
    sealing = _Sealing(file)
    try:
        torch.save(content, cast(Any, sealing), pickle_protocol=2)
    except Exception as error:
        # torch hides a full disk, and Ctrl-C, behind an "unexpected pos" of its own.
        if sealing.failure is not None:
            raise sealing.failure from None
        raise CheckpointError(
            f"torch {torch.__version__} can't save this: {error}. Save it as another dtype or "
            "layout. No file was changed."
        ) from error
    sealing.seal()


def _permissions(target: str) -> int | None:
    """Those of the file to be replaced, if there is one."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):  # or a link to /dev/null would be the end of /dev/null
        raise OSError(errno.EINVAL, "something is there that is not a file")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "a write-protected file is there")
    return stat.S_IMODE(mode)


def _sync_directory(directory: str) -> None:
    # The file is whole whichever way this ends; only its name could still be lost, to a power cut.
    with contextlib.suppress(OSError):
        opened = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


# A writer holds a lock on its temporary file. The kernel takes it back from the killed, which a
# process id can't show: there are other containers, and numbers are given out again. Locks may not
# reach across machines, hence the host in the name.


def _temporary_prefix(target: str) -> str:
    name = hashlib.blake2b(os.fsencode(os.path.basename(target)), digest_size=8).hexdigest()
    host = re.sub(r"[^A-Za-z0-9.]", "_", platform.node())[:64]
    return f".gradledger-{name}-{host}-"


def _open_temporary(target: str, permissions: int) -> tuple[str, BinaryIO]:
    while True:
        unique = f"{_temporary_prefix(target)}{os.getpid()}-{secrets.token_hex(8)}.tmp"
        temporary = os.path.join(os.path.dirname(target), unique)
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(temporary, flags, permissions), "wb")
        with contextlib.suppress(OSError):  # no locks here: then left-overs stay, which is safe
            _lock(file.fileno(), wait=True)
        if os.fstat(file.fileno()).st_nlink:
            return temporary, file
        file.close()  # someone took it for a left-over before it was locked


def _remove_left_overs(target: str) -> None:
    """Remove what killed writers left, before writing: it may be what fills the disk."""
    directory, prefix = os.path.dirname(target), _temporary_prefix(target)
    for name in os.listdir(directory):
        if name.startswith(prefix) and name.endswith(".tmp"):
            with contextlib.suppress(OSError):  # another writer's, or another user's
                left = os.open(os.path.join(directory, name), os.O_RDWR)
                try:
                    _lock(left, wait=False)
                    os.unlink(os.path.join(directory, name))
                finally:
                    os.close(left)


def _lock(opened: int, *, wait: bool) -> None:
    if sys.platform != "win32":  # there, an open file can't be removed anyway
        fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


# What can be saved: what torch.load(weights_only=True) makes again, measured with torch 2.13 -----

AS_THEY_ARE = {
    *(types.NoneType, bool, float, complex, str, bytearray),
    *(torch.Size, torch.dtype, torch.device, torch.layout),
}
LARGEST = 2039
"""Bits of an integer. The pickles of larger ones have an instruction that torch does not know."""


def _plain(value: Any, where: str) -> Any:
    """The same in types that load without running code; tensors without graph and attributes."""
    kind = type(value)
    if kind in AS_THEY_ARE or (kind is int and value.bit_length() <= LARGEST):
        return value
    if kind is bytes and value:  # torch can't load empty ones
        return value
    if kind in (Tensor, nn.Parameter) and not value.is_meta:
        return value.detach()
    if kind in (list, tuple, set):
        return kind([_plain(item, f"{where}[{at}]") for at, item in enumerate(value)])
    if kind in (dict, OrderedDict, Counter):
        new: Any = kind()
        for key, item in value.items():
            new[_plain(key, f"a key of {where}")] = _plain(item, _at(where, key))
        if kind is OrderedDict:  # a module's state_dict() has its versions in an attribute
            vars(new).update(_plain(vars(value), where))
        return new
    if kind.__module__ == "numpy" and getattr(value, "shape", None) == ():
        number = value.item()
        if type(number) is not kind:
            return _plain(number, where)
    raise CheckpointError(
        f"{where} is {_named(value)}, which a checkpoint can't hold. {_instead(value)} No file was "
        "changed."
    )


def _at(where: str, key: object) -> str:
    if isinstance(key, str) and key.isidentifier():
        return f"{where}.{key}" if where else key
    return f"{where}[{key!r}]"


def _named(value: object) -> str:
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    if isinstance(value, types.FunctionType):
        return f"a function ({value.__module__}.{value.__qualname__})"
    if isinstance(value, Tensor) and value.is_meta:
        return "a tensor on the meta device"
    if type(value) is int:
        return f"an integer of {value.bit_length()} bits"
    if type(value) is bytes:
        return "an empty bytes object"
    return f"of type {type(value).__module__}.{type(value).__qualname__}"


def _instead(value: object) -> str:
    if isinstance(value, Tensor) and is_lazy(value):
        return "It has no values yet: run the model once, then save."
    if isinstance(value, Tensor) and value.is_meta:
        return "It has no values: give the model some with to_empty() or load_state_dict(), first."
    if isinstance(value, Tensor):
        return "Save a plain tensor with its values: DTensor has full_tensor() for that."
    if type(value).__module__ == "numpy":
        return "Save torch.from_numpy() of it, or its tolist()."
    for plain in (tuple, dict, list, set, str, int, float):
        if isinstance(value, plain):
            return f"Save a plain {plain.__name__} of it."
    return (
        "To make it again, code would have to run. Save what it is made of (numbers, strings, "
        "tensors, and lists or dicts of them), and build it before you load."
    )


# Does it fit? -------------------------------------------------------------------------------

FEW = 4
"""So many are named, and the others counted."""


def describe(model: nn.Module, optimizers: Sequence[Optimizer]) -> dict[str, Any]:
    """What to save of these: their state, and what tells whether it fits."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}

    def label(parameter: Tensor) -> str:
        return f"{names.get(id(parameter), 'one outside the model')} ({_kind(parameter)})"

    return {
        "model": model.state_dict(),
        "optimizers": [
            {
                "class": f"{type(optimizer).__module__}.{type(optimizer).__qualname__}",
                "parameters": [list(map(label, g["params"])) for g in optimizer.param_groups],
                "state": optimizer.state_dict(),
            }
            for optimizer in optimizers
        ],
    }


def differences(
    saved: Mapping[str, Any], model: nn.Module, optimizers: Sequence[Optimizer]
) -> list[str]:
    """What keeps the saved from being loaded into the live, in sentences; if none, it can be.

    An optimizer's state goes by position, not by name. So each position must hold the parameter
    that it held: equal shapes alone would let two layers trade their moments.
    """
    live = describe(model, optimizers)
    if not live.keys() <= saved.keys():
        return ["The checkpoint holds no model and optimizers."]
    found = list(_model_differences(saved["model"], live["model"]))
    were, are = saved["optimizers"], live["optimizers"]
    if len(were) != len(are):
        return [*found, f"The number of optimizers was {len(were)} and is {len(are)}."]
    for at, (was, now) in enumerate(zip(were, are, strict=True)):
        name = "The optimizer" if len(are) == 1 else f"Optimizer {at}"
        found += _optimizer_differences(name, was, now)
    return found


def _model_differences(saved: Mapping[str, Any], live: Mapping[str, Any]) -> Iterator[str]:
    if missing := [key for key in live if key not in saved]:
        yield f"The model has what the checkpoint lacks: {_few(missing)}."
    if unexpected := [key for key in saved if key not in live]:
        yield f"The checkpoint has what the model lacks: {_few(unexpected)}."
    kinds = {key: (_kind(saved[key]), _kind(live[key])) for key in live if key in saved}
    if others := [
        f"{key} was {was} and is {now}" for key, (was, now) in kinds.items() if was != now
    ]:
        yield f"In the model, {_few(others)}."


def _optimizer_differences(name: str, was: Any, now: Any) -> Iterator[str]:
    if was["class"] != now["class"]:
        yield f"{name} was a {was['class']} and is a {now['class']}."
    sizes = [[len(group) for group in each["parameters"]] for each in (was, now)]
    if len(sizes[0]) != len(sizes[1]):
        yield f"{name} had {len(sizes[0])} param groups and has {len(sizes[1])}."
    elif sizes[0] != sizes[1]:
        yield f"{name} had {sizes[0]} parameters in its param groups and has {sizes[1]}."
    else:
        then_and_now = (chain.from_iterable(each["parameters"]) for each in (was, now))
        pairs = zip(*then_and_now, strict=True)
        if moved := [f"{then} where now is {here}" for then, here in pairs if then != here]:
            yield f"{name} had other parameters, or in another order: {_few(moved)}."


def _kind(value: object) -> str:
    if not isinstance(value, Tensor):
        return "no tensor"
    if is_lazy(value):
        return "not initialized"
    layout = "" if value.layout == torch.strided else f" {value.layout}"
    return f"{value.dtype} {list(value.shape)}{layout}{' on meta' * value.is_meta}"


def _few(things: list[str]) -> str:
    more = f" and {len(things) - FEW} more" if len(things) > FEW else ""
    return ", ".join(things[:FEW]) + more
