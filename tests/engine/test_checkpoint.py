"""Checkpoints: written whole or not at all, read whole or not at all, and never run."""

from __future__ import annotations

import io
import json
import os
import pickle
import pkgutil
import random
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.optim import lr_scheduler as schedulers

from gradledger.engine.checkpoint import describe, differences, left_overs, read, write
from gradledger.engine.checkpoint.sealing import FORMAT
from gradledger.engine.checkpoint.writing import Sealing
from gradledger.errors import CheckpointError

Pair = namedtuple("Pair", "a b")

FORKS = r"""
import json, os, resource, signal, sys, time, traceback
import torch
from gradledger.engine.checkpoint import read, write
from gradledger.errors import CheckpointError

def say(line):
    os.write(1, f"{line}\n".encode())  # in one piece, or a kill may come between

def another_user():
    if os.getuid() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
torch.set_num_threads(1)
for line in sys.stdin:
    path, source = json.loads(line)
    if not os.fork():
        say(os.getpid())
        try:
            exec(source)
        except CheckpointError as error:
            say(f"refused {error} {error.__cause__!r}")
        except BaseException:
            say(traceback.format_exc())
        say("end")
        os._exit(0)
"""
WRITE = "write(path, {'model': {'w': torch.ones(100_000)}})"


class Forks:
    """Runs pieces of source text in processes of their own, for which torch is loaded once."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORKS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._handles: list[int] = []

    def start(self, path: Path, *pieces: str) -> int:
        """A handle to a process that does not end by itself, to kill it by."""
        self._handles.append(os.pidfd_open(self._fork(path, *pieces)))
        return self._handles[-1]

    def kill(self, handle: int) -> None:
        """Until it is gone: it is not our child, and may still be in a last system call."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        select.select([handle], [], [])

    def line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process that forks has ended"
        return line

    def run(self, path: Path, *pieces: str) -> str:
        """What it printed."""
        self._fork(path, *pieces)
        return "".join(iter(self.line, "end\n"))

    def _fork(self, path: Path, *pieces: str) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([str(path), "\n".join(pieces)]) + "\n")
        said = self.line()
        while said == "wrote\n":  # by one that was killed since
            said = self.line()
        return int(said)

    def close(self) -> None:
        for handle in self._handles:
            self.kill(handle)
            os.close(handle)
        self._process.communicate()


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with closing(Forks()) as forks:
        yield forks


@pytest.fixture
def public_path() -> Iterator[Path]:
    """A directory that other users can reach, which pytest's own is not."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield Path(directory)
        os.chmod(directory, 0o755)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "run.pt"
    write(path, {"model": {"w": torch.arange(500.0)}, "note": "first"})
    return path


def refusal(path: Path) -> str:
    """What a person is told who tries to read this file."""
    with pytest.raises(CheckpointError) as caught:
        read(path)
    message = str(caught.value)
    assert str(path) in message
    assert message.count(".") >= 2, "what is wrong, and what to do"
    return message


def names(directory: Path) -> list[str]:
    return sorted(file.name for file in directory.iterdir())


def seal(path: Path, content: bytes) -> Path:
    """Make a file whose only fault is what is in it."""
    with open(path, "wb") as file:
        sealing = Sealing(file)
        sealing.write(content)
        sealing.seal()
    return path


def saved_by_torch(content: object) -> bytes:
    torch.save(content, buffer := io.BytesIO())
    return buffer.getvalue()


def same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor):
        dense = [t.to_dense() if t.layout != torch.strided else t for t in (a, b)]
        raw = [t.contiguous().reshape(-1).view(torch.uint8) for t in dense]
        return a.layout == b.layout and a.dtype == b.dtype and torch.equal(*raw)
    if isinstance(a, dict):
        return type(a) is type(b) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or a != a)


# What can be saved --------------------------------------------------------------------------

PLAIN: list[Any] = [
    *(None, True, 0, -5, 2**31, 2**63, -(2**2038), 1.5, float("nan"), float("inf"), 1 + 2j),
    *("", "é\0\ud800", "x" * 70_000, b"a\xff", bytes(range(256)) * 9, bytearray(), bytearray(b"a")),
    *(
        [],
        [1, [2]],
        (),
        (1,),
        (1, 2, 3, 4, (5,)),
        {},
        {1: 2, None: 3, (1, "a"): 4},
        set(),
        {1, "a"},
    ),
    *(OrderedDict(a=1), Counter("aab"), torch.Size([2, 3]), torch.device("cuda:1"), torch.bfloat16),
    *(torch.strided, random.Random(3).getstate(), torch.get_rng_state()),
]


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: type(value).__name__)
def test_what_torch_loads_without_running_code_comes_back_as_it_was(
    tmp_path: Path, value: object
) -> None:
    write(tmp_path / "run.pt", {"value": value, "nested": [{"value": (value,)}]})
    content = read(tmp_path / "run.pt")
    assert same(content["value"], value)
    assert same(content["nested"][0]["value"][0], value)


DTYPES = [
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.bool),
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint64),
    *(torch.float8_e4m3fn, torch.float8_e5m2),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_of_every_dtype_come_back_bit_for_bit(tmp_path: Path, dtype: torch.dtype) -> None:
    tensor = torch.randint(0, 2, (8, dtype.itemsize), dtype=torch.uint8).view(dtype)
    write(tmp_path / "run.pt", {"t": tensor})
    assert same(read(tmp_path / "run.pt")["t"], tensor)


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize(
    "make",
    [
        lambda t: t[1:2],
        lambda t: t.t(),
        lambda t: t[0].expand(3, 4),
        lambda t: t[:0],
        lambda t: t.sum(),
        nn.Parameter,
        lambda t: t.requires_grad_() * 2,
        lambda t: t.to_sparse(),
        lambda t: t.to_sparse_csr(),
        lambda t: t.to_sparse_csc(),
    ],
)
def test_tensors_of_every_kind_come_back_as_values(
    tmp_path: Path, make: Callable[[Tensor], Tensor]
) -> None:
    tensor = make(torch.arange(16.0).reshape(4, 4))
    write(tmp_path / "run.pt", {"t": tensor})
    loaded = read(tmp_path / "run.pt")["t"]
    assert same(loaded, tensor.detach())
    assert not loaded.requires_grad


def test_attributes_and_hooks_of_a_tensor_stay_out(tmp_path: Path) -> None:
    tensor = torch.ones(2, requires_grad=True)
    tensor.note = lambda: None  # type: ignore[attr-defined]
    tensor.register_hook(lambda gradient: gradient)  # type: ignore[no-untyped-call]
    write(tmp_path / "run.pt", {"t": tensor})
    assert read(tmp_path / "run.pt")["t"].tolist() == [1, 1]


@pytest.mark.parametrize("number", [np.float64(2.5), np.float32(0.5), np.int64(3), np.bool_(True)])
def test_numbers_of_numpy_become_those_of_python(tmp_path: Path, number: Any) -> None:
    write(tmp_path / "run.pt", {"best": number})
    assert same(read(tmp_path / "run.pt")["best"], number.item())


class Subclass(Tensor):
    pass


LAZY = nn.LazyLinear(2).weight
REFUSED: list[tuple[object, str]] = [
    (lambda: None, r"a function \(.*<lambda>\).*code would have to run"),
    (print, "of type builtins.builtin_function_or_method"),
    (nn.Linear, "the class Linear"),
    (nn.Linear(1, 1), "of type torch.nn.modules.linear.Linear"),
    (random.Random(), "of type random.Random"),
    (torch.Generator(), "of type torch.*Generator"),
    (np.zeros(3), "of type numpy.ndarray.*torch.from_numpy"),
    (np.longdouble(3), "of type numpy.*tolist"),
    (Pair(1, 2), "of type .*Pair.*a plain tuple"),
    (defaultdict(list), "of type collections.defaultdict.*a plain dict"),
    (frozenset({1}), "of type builtins.frozenset"),
    (deque([1]), "of type collections.deque"),
    (range(3), "of type builtins.range"),
    (2**2040, "an integer of 2041 bits"),
    (b"", "an empty bytes object"),
    (torch.ones(1).as_subclass(Subclass), "of type .*Subclass.*a plain tensor"),
    (torch.ones(1, device="meta"), "a tensor on the meta device.*to_empty"),
    (LAZY, "of type .*UninitializedParameter.*run the model once"),
]


@pytest.mark.parametrize(("value", "reason"), REFUSED, ids=lambda value: type(value).__name__)
def test_what_could_not_be_read_back_is_refused_by_name(
    written: Path, value: object, reason: str
) -> None:
    before = written.read_bytes()
    with pytest.raises(CheckpointError, match=r"^scheduler\.lr_lambdas\[0\] is.* " + reason):
        write(written, {"scheduler": {"lr_lambdas": [value]}})
    assert written.read_bytes() == before
    assert names(written.parent) == [written.name]


def test_keys_are_looked_at_and_odd_ones_are_quoted(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"^a key of groups is .*frozenset"):
        write(tmp_path / "run.pt", {"groups": {frozenset({1}): 2}})
    with pytest.raises(CheckpointError, match=r"^model\['net\.0'\]\[3\] is a function"):
        write(tmp_path / "run.pt", {"model": {"net.0": {3: lambda: 0}}})
    assert names(tmp_path) == []


def test_a_content_that_contains_itself_is_refused(tmp_path: Path) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(CheckpointError, match="contains itself"):
        write(tmp_path / "run.pt", {"endless": endless})


def test_what_torch_itself_can_not_save_is_refused(written: Path) -> None:
    before = written.read_bytes()
    with pytest.raises(CheckpointError, match="can't save this"):
        write(written, {"t": torch.zeros(3, 3).to_mkldnn()})
    assert written.read_bytes() == before
    assert names(written.parent) == [written.name]


def test_the_states_of_schedulers_and_scalers_can_be_saved(tmp_path: Path) -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1, momentum=0.9)
    made: list[Any] = [
        torch.amp.GradScaler("cpu"),
        schedulers.LambdaLR(optimizer, lambda epoch: 0.9),
        schedulers.MultiStepLR(optimizer, [2, 5]),
        schedulers.OneCycleLR(optimizer, 1.0, total_steps=9),
        schedulers.CyclicLR(optimizer, 0.1, 1.0),
        schedulers.CosineAnnealingWarmRestarts(optimizer, 3),
        schedulers.ReduceLROnPlateau(optimizer),
        schedulers.SequentialLR(
            optimizer,
            [schedulers.ConstantLR(optimizer), schedulers.ExponentialLR(optimizer, 0.9)],
            [3],
        ),
    ]
    states = [each.state_dict() for each in made]
    write(tmp_path / "run.pt", {"states": states})
    assert same(read(tmp_path / "run.pt")["states"], states)


# Writing ------------------------------------------------------------------------------------


def test_the_header_says_who_wrote_it_and_wins(tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    write(path, {"version": 7, "a": 1})
    content = read(path)
    assert (content["format"], content["version"]) == ("gradledger checkpoint", 1)
    assert content["torch"] == torch.__version__
    assert content["gradledger"]
    write(path, content)
    assert read(path) == content


def test_torch_opens_a_checkpoint_and_so_does_zipfile(written: Path) -> None:
    assert torch.load(written, weights_only=True)["note"] == "first"
    with zipfile.ZipFile(written) as archive:
        assert archive.testzip() is None


def test_the_versions_in_a_state_dict_are_kept(tmp_path: Path) -> None:
    state = nn.BatchNorm1d(2).state_dict()
    write(tmp_path / "run.pt", {"model": state})
    assert read(tmp_path / "run.pt")["model"]._metadata == state._metadata  # type: ignore[attr-defined]


def test_a_new_file_obeys_the_umask_and_an_old_one_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    umask = os.umask(0o027)
    try:
        write(path, {})
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o666)
        write(path, {})
        assert stat.S_IMODE(path.stat().st_mode) == 0o666
    finally:
        os.umask(umask)


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path, there: bool) -> None:
    target, link, linked = tmp_path / "deep" / "run.pt", tmp_path / "a.pt", tmp_path / "b.pt"
    target.parent.mkdir()
    if there:
        write(target, {"n": 1})
    linked.symlink_to(Path("deep") / "run.pt")
    link.symlink_to("b.pt")
    write(link, {"n": 2})
    assert link.is_symlink()
    assert linked.is_symlink()
    assert not target.is_symlink()
    assert read(target)["n"] == read(link)["n"] == 2
    assert names(target.parent) == ["run.pt"]


def test_a_relative_path_and_a_very_long_name_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write("é" * 127, {"n": 1})
    assert read("é" * 127)["n"] == 1


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing/run.pt", "No such file or directory"),
        ("file/run.pt", "Not a directory"),
        ("directory", "is not a file"),
        ("loop", "symbolic links"),
        ("pipe", "is not a file"),
        ("nul\0", "null"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_path_that_can_not_be_written_is_refused_with_its_reason(
    tmp_path: Path, path: str, reason: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "directory").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    before = names(tmp_path)
    with pytest.raises(CheckpointError, match=reason) as caught:
        write(tmp_path / path, {})
    assert str(tmp_path / path) in str(caught.value)
    assert caught.value.__cause__ is not None
    assert names(tmp_path) == before


def test_a_read_only_directory_is_refused(public_path: Path, forks: Forks) -> None:
    public_path.chmod(0o555)
    said = forks.run(public_path / "run.pt", "another_user()", WRITE)
    assert said.startswith("refused")
    assert "Permission denied" in said
    assert names(public_path) == []


def test_a_write_protected_file_is_not_replaced(public_path: Path, forks: Forks) -> None:
    path = public_path / "run.pt"
    write(path, {"n": 1})
    path.chmod(0o444)
    public_path.chmod(0o777)
    assert "a write-protected file is there" in forks.run(path, "another_user()", WRITE)
    assert read(path)["n"] == 1


def test_a_disk_without_room_leaves_the_old_file_and_nothing_else(
    written: Path, forks: Forks
) -> None:
    before = written.read_bytes()
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))"
    said = forks.run(written, limit, WRITE)
    assert said.startswith("refused")
    assert "File too large" in said
    assert "OSError" in said
    assert written.read_bytes() == before
    assert names(written.parent) == [written.name]


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(5, "Input/output error")])
@pytest.mark.parametrize(
    ("name", "call"),
    [("zlib.crc32", 0), ("zlib.crc32", 7), ("os.fsync", 0), ("os.replace", 0), ("os.chmod", 0)],
)
def test_whatever_goes_wrong_the_old_file_is_intact_and_the_new_one_is_gone(
    written: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException, name: str, call: int
) -> None:
    before = written.read_bytes()
    calls = iter(range(call))
    function: Any = pkgutil.resolve_name(name)

    def failing(*args: Any) -> Any:
        if next(calls, None) is None:
            raise failure
        return function(*args)

    with monkeypatch.context() as trouble:
        trouble.setattr(name, failing)
        with pytest.raises((KeyboardInterrupt, CheckpointError)) as caught:
            write(written, {"n": 2})
    assert failure in (caught.value, caught.value.__cause__)
    assert written.read_bytes() == before
    assert names(written.parent) == [written.name]


# Killed writers -----------------------------------------------------------------------------

WRITE_ON_AND_ON = """
for n in range(1_000_000):
    write(path, {"n": n, "w": torch.full((50_000,), n)})
    say("wrote")
"""


def test_writers_killed_at_any_moment_leave_a_whole_file_and_nothing_piles_up(
    tmp_path: Path, forks: Forks
) -> None:
    path = tmp_path / "run.pt"
    left = []
    for _ in range(25):
        writer = forks.start(path, WRITE_ON_AND_ON)
        for _ in range(random.randrange(1, 4)):
            assert forks.line() == "wrote\n"
        time.sleep(random.uniform(0, 0.01))  # the moment of the kill is what is tested
        forks.kill(writer)
        content = read(path)
        assert content["w"].unique().tolist() == [content["n"]]
        left.append(len(names(tmp_path)) - 1)
    assert max(left) == 1, "some kill hit the writing, and the next writer removed what was left"
    write(path, {"n": -1})
    assert names(tmp_path) == ["run.pt"]


def left_over(path: Path, name: str) -> Path:
    """What a writer leaves that is killed in the middle."""
    temporary, file = left_overs.open_temporary(str(path), 0o666)
    file.write(b"PK")
    file.close()
    return Path(temporary).rename(path.parent / name) if name else Path(temporary)


def test_only_left_overs_of_this_file_and_this_host_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.pt"
    gone = left_over(path, "")
    others = [left_over(tmp_path / "another.pt", ""), left_over(path, "run.pt.tmp")]
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("platform.node", lambda: "another-host")
        others.append(left_over(path, ""))
    write(path, {})
    assert not gone.exists()
    assert all(other.exists() for other in others)


def test_the_temporary_file_of_a_living_writer_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    temporary, file = left_overs.open_temporary(str(path), 0o666)
    with file:
        write(path, {"n": 1})
        assert Path(temporary).exists()
    write(path, {"n": 2})
    assert names(tmp_path) == ["run.pt"]


def test_a_temporary_file_that_was_removed_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.pt"
    lock = left_overs._lock
    calls: list[bool] = []

    def late(opened: int, *, wait: bool) -> None:
        if not calls:
            calls.append(wait)
            left_overs.remove_left_overs(str(path))
        lock(opened, wait=wait)

    monkeypatch.setattr(left_overs, "_lock", late)
    write(path, {"n": 1})
    assert calls
    assert read(path)["n"] == 1
    assert names(tmp_path) == ["run.pt"]


def test_several_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "run.pt"

    def work(number: int) -> None:
        for _ in range(15):
            write(path, {"n": number, "w": torch.full((1000,), number)})
            content = read(path)
            assert content["w"].unique().tolist() == [content["n"]]

    with ThreadPoolExecutor(4) as several:
        list(several.map(work, range(4)))
    assert names(tmp_path) == ["run.pt"]


# Reading ------------------------------------------------------------------------------------


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "does not exist. Name a file" in refusal(tmp_path / "run.pt")


def test_a_directory(tmp_path: Path) -> None:
    assert "is a directory" in refusal(tmp_path)


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "run.pt").touch()
    assert "is empty" in refusal(tmp_path / "run.pt")


def test_a_file_that_may_not_be_read(public_path: Path, forks: Forks) -> None:
    path = public_path / "run.pt"
    write(path, {})
    path.chmod(0)
    said = forks.run(path, "another_user()", "read(path)")
    assert f"refused {path} may not be read by this user" in said


@pytest.mark.parametrize(
    "content", [b"x", b"epoch,loss\n" * 1000, os.urandom(9999), pickle.dumps({"format": "x"})]
)
def test_a_foreign_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.pt").write_bytes(content)
    assert "is not a gradledger checkpoint" in refusal(tmp_path / "run.pt")


def test_what_torch_saved_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "run.pt").write_bytes(saved_by_torch(nn.Linear(2, 2).state_dict()))
    assert "is not a gradledger checkpoint: it has no seal" in refusal(tmp_path / "run.pt")


@pytest.mark.parametrize("content", [[1], {"model": {}}, {"format": "x"}, {"format": FORMAT}])
def test_another_header(tmp_path: Path, content: object) -> None:
    path = seal(tmp_path / "run.pt", saved_by_torch(content))
    assert "is not a gradledger checkpoint: it has another header" in refusal(path)


def test_a_newer_format(tmp_path: Path) -> None:
    header = {"format": FORMAT, "version": 2, "gradledger": "9.1"}
    path = seal(tmp_path / "run.pt", saved_by_torch(header))
    message = refusal(path)
    assert "was made by a newer gradledger (9.1)" in message
    assert "pip install --upgrade gradledger" in message


class Malice:
    def __reduce__(self) -> Any:
        return os.mkdir, (os.environ["MALICE"],)


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("zipped", [True, False])
def test_code_in_a_file_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sealed: bool, zipped: bool
) -> None:
    done = tmp_path / "done"
    monkeypatch.setenv("MALICE", str(done))
    content = {"format": FORMAT, "version": 1, "evil": Malice()}
    pickled = saved_by_torch(content) if zipped else pickle.dumps(content)
    path = tmp_path / "run.pt"
    if sealed:
        seal(path, pickled)
    else:
        path.write_bytes(pickled)
    message = refusal(path)
    assert not done.exists()
    if sealed and zipped:
        assert "None was run" in message
    torch.load(io.BytesIO(pickled), weights_only=False) if zipped else pickle.loads(pickled)
    assert done.exists(), "it would have run"


def test_a_file_cut_off_anywhere_is_refused(written: Path) -> None:
    whole = written.read_bytes()
    for length in {*range(0, len(whole), 13), *range(len(whole) - 400, len(whole))}:
        written.write_bytes(whole[:length])
        with pytest.raises(CheckpointError):
            read(written)
    written.write_bytes(whole[: len(whole) // 2])
    assert "is damaged" in refusal(written)
    written.write_bytes(whole + b"x")
    refusal(written)


def test_a_flipped_bit_anywhere_is_refused(written: Path) -> None:
    whole, chance = written.read_bytes(), random.Random(7)
    for at in {*chance.sample(range(len(whole)), 600), *range(len(whole) - 400, len(whole))}:
        flipped = bytearray(whole)
        flipped[at] ^= 1 << chance.randrange(8)
        written.write_bytes(flipped)
        with pytest.raises(CheckpointError):
            read(written)
    written.write_bytes(whole)
    read(written)


def test_a_flipped_weight_is_called_damage_where_torch_sees_none(written: Path) -> None:
    whole = bytearray(written.read_bytes())
    at = whole.index(torch.arange(500.0).numpy().tobytes()) + 400
    whole[at] ^= 1
    written.write_bytes(whole)
    assert torch.load(written, weights_only=True)["model"]["w"][100] != 100
    assert "is damaged" in refusal(written)


# Does it fit? -------------------------------------------------------------------------------


def network(width: int = 4) -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, width), nn.BatchNorm1d(width), nn.Linear(width, 4))


def train(model: nn.Module, *optimizers: torch.optim.Optimizer) -> None:
    def loss() -> Any:
        for optimizer in optimizers:
            optimizer.zero_grad()
        value: Tensor = model(torch.randn(8, 4)).square().mean()
        torch.autograd.backward(value)
        return value

    for _ in range(3):
        for optimizer in optimizers:
            optimizer.step(loss)


def saved(path: Path, model: nn.Module, *optimizers: torch.optim.Optimizer) -> dict[str, Any]:
    train(model, *optimizers)
    write(path, describe(model, optimizers))
    return read(path)


OPTIMIZERS: list[Callable[[Any], torch.optim.Optimizer]] = [
    lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    lambda parameters: torch.optim.AdamW(parameters, amsgrad=True),
    torch.optim.Adafactor,
    torch.optim.Rprop,
    torch.optim.LBFGS,
]


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_what_fits_is_loaded_and_is_the_same(
    tmp_path: Path, make: Callable[[Any], torch.optim.Optimizer]
) -> None:
    model = network()
    optimizer = make(model.parameters())
    content = saved(tmp_path / "run.pt", model, optimizer)
    fresh = network()
    restored = make(fresh.parameters())
    assert differences(content, fresh, [restored]) == []
    fresh.load_state_dict(content["model"], strict=True)
    restored.load_state_dict(content["optimizers"][0]["state"])
    assert same(fresh.state_dict(), model.state_dict())
    assert same(restored.state_dict(), optimizer.state_dict())
    train(fresh, restored)
    assert differences(content, fresh, [restored]) == [], "also after it was trained"


def adam(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters())


def fit(path: Path, model: nn.Module, *optimizers: torch.optim.Optimizer) -> str:
    """What is said of loading a network trained with AdamW into these."""
    original = network()
    return " ".join(differences(saved(path, original, adam(original)), model, optimizers))


def test_missing_and_unexpected_entries_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    deeper = nn.Sequential(*network(), nn.BatchNorm1d(4))
    said = fit(path, deeper, adam(deeper))
    assert "The model has what the checkpoint lacks: 3.weight, 3.bias, 3.running_mean" in said
    assert "3.running_var and 1 more." in said
    shorter = network()[:1]
    said = fit(path, shorter, adam(shorter))
    assert "The checkpoint has what the model lacks: 1.weight" in said
    assert "and 3 more." in said


def test_other_shapes_and_dtypes_are_named(tmp_path: Path) -> None:
    wider = network(5)
    said = fit(tmp_path / "run.pt", wider, adam(wider))
    assert "0.weight was torch.float32 [4, 4] and is torch.float32 [5, 4]" in said
    double = network().double()
    said = fit(tmp_path / "run.pt", double, adam(double))
    assert "0.weight was torch.float32 [4, 4] and is torch.float64 [4, 4]" in said


def test_a_model_without_values_does_not_fit(tmp_path: Path) -> None:
    meta = network().to("meta")
    assert "is torch.float32 [4, 4] on meta" in fit(tmp_path / "run.pt", meta, adam(meta))
    lazy = nn.Sequential(nn.LazyLinear(4), *list(network())[1:])
    assert "0.weight was torch.float32 [4, 4] and is not initialized" in fit(
        tmp_path / "run.pt", lazy, adam(lazy)
    )


def test_other_optimizers_are_named(tmp_path: Path) -> None:
    path, model = tmp_path / "run.pt", network()
    sgd = torch.optim.SGD(model.parameters())
    assert fit(path, model, sgd) == (
        "The optimizer was a torch.optim.adamw.AdamW and is a torch.optim.sgd.SGD."
    )
    assert fit(path, model) == "The number of optimizers was 1 and is 0."
    both = differences(saved(path, model, adam(model), sgd), model, [sgd, adam(model)])
    assert both == [
        "Optimizer 0 was a torch.optim.adamw.AdamW and is a torch.optim.sgd.SGD.",
        "Optimizer 1 was a torch.optim.sgd.SGD and is a torch.optim.adamw.AdamW.",
    ]


def test_other_param_groups_are_named(tmp_path: Path) -> None:
    path, model = tmp_path / "run.pt", network()
    everything = list(model.parameters())
    grouped = torch.optim.AdamW([{"params": everything[:2]}, {"params": everything[2:]}])
    assert fit(path, model, grouped) == "The optimizer had 1 param groups and has 2."
    fewer = torch.optim.AdamW(everything[:4])
    assert "had [6] parameters in its param groups and has [4]" in fit(path, model, fewer)


@pytest.mark.parametrize("order", [[1, 0, 2, 3, 4, 5], [4, 1, 2, 3, 0, 5]])
def test_parameters_in_another_order_do_not_fit_even_with_equal_shapes(
    tmp_path: Path, order: list[int]
) -> None:
    model = network()
    everything = list(model.parameters())
    moved = torch.optim.AdamW([everything[n] for n in order])
    said = fit(tmp_path / "run.pt", model, moved)
    now = [name for name, _ in model.named_parameters()][order[0]]
    assert "had other parameters, or in another order: 0.weight (torch.float32 [4, 4])" in said
    assert f"where now is {now} (" in said


def test_a_parameter_outside_the_model_is_told_by_its_shape(tmp_path: Path) -> None:
    path, model = tmp_path / "run.pt", network()

    def with_temperature(size: int) -> torch.optim.Optimizer:
        return torch.optim.AdamW([*model.parameters(), nn.Parameter(torch.ones(size))])

    content = saved(path, model, with_temperature(1))
    assert differences(content, model, [with_temperature(1)]) == []
    assert "one outside the model (torch.float32 [2])" in "".join(
        differences(content, model, [with_temperature(2)])
    )


def test_a_checkpoint_of_something_else_does_not_fit(written: Path) -> None:
    model = network()
    assert differences(read(written), model, [adam(model)]) == [
        "The checkpoint holds no model and optimizers."
    ]
