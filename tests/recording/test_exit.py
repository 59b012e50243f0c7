from __future__ import annotations

from pathlib import Path

import pytest

from gradledger.recording import Recording

from .conftest import Program


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise RuntimeError('CUDA out of memory')", 1),
        ("import signal; signal.raise_signal(signal.SIGINT)", -2),
        ("import atexit; atexit.register(recorder.record, Batch(Place('late.py', 1)))", 0),
        ("import threading; threading.Thread(target=record, args=(recorder, [1])).start()", 0),
    ],
)
def test_a_recorder_that_nobody_closed_is_closed_when_python_exits(
    tmp_path: Path, program: Program, end: str, status: int
) -> None:
    result = program(
        tmp_path / "run.gradledger",
        'recorder = Recorder(path, run=RunInfo("train.py"))',
        "record(recorder, range(5000))",
        end,
    )
    assert result.returncode == status
    assert "Recording" not in result.stderr
    with Recording(tmp_path / "run.gradledger") as recording:
        assert recording.ended
        assert len(recording) >= 5000
    assert [file.name for file in tmp_path.iterdir()] == ["run.gradledger"]


def test_recording_and_reading_load_no_torch(tmp_path: Path, program: Program) -> None:
    result = program(
        tmp_path / "run.gradledger",
        """
        Recorder(path, run=RunInfo("train.py")).close()
        Recording(path).close()
        print(sorted({"torch", "numpy", "rich"} & set(sys.modules)))
        """,
    )
    assert result.stdout == "[]\n", result.stderr
