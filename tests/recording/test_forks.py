from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradledger.recording import Recording

from .conftest import Program

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

START = """
    import gc, sqlite3, warnings
    warnings.simplefilter("ignore")  # newer Pythons warn of any fork beside a thread
    recorder = Recorder(path, run=RunInfo("train.py"))
"""


def lines(path: Path) -> list[int]:
    with Recording(path) as recording:
        assert recording.ended
        assert recording.lost == 0
        recorded = list(recording.events())
    assert [r.number for r in recorded] == list(range(1, len(recorded) + 1))
    return [r.event.at.line for r in recorded]


@pytest.mark.parametrize(
    "leave", ["os._exit(0)", "sys.exit(0)", "del recorder; gc.collect(); sys.exit(0)"]
)
def test_a_forked_child_leaves_its_parents_file_alone(
    tmp_path: Path, program: Program, leave: str
) -> None:
    result = program(
        tmp_path / "run.gradledger",
        START,
        f"""
        for round in range(20):
            record(recorder, range(100 * round, 100 * round + 50))
            if not (child := os.fork()):
                record(recorder, range(10_000, 11_000))
                recorder.flush()
                recorder.close()
                {leave}
            record(recorder, range(100 * round + 50, 100 * round + 100))
            assert os.waitpid(child, 0)[1] == 0
        recorder.close()
        """,
    )
    assert result.stderr == ""
    assert lines(tmp_path / "run.gradledger") == list(range(2000))


def test_a_forked_child_can_use_sqlite_and_record_for_itself(
    tmp_path: Path, program: Program
) -> None:
    result = program(
        tmp_path / "run.gradledger",
        START,
        """
        children = []
        for round in range(40):
            record(recorder, range(1000 * round, 1000 * round + 1000))
            recorder._wake.set()  # so that the fork comes while it writes
            if not (child := os.fork()):
                sqlite3.connect(":memory:").execute("CREATE TABLE images (x)").close()
                with Recorder(path + str(round), run=RunInfo("worker")) as own:
                    own.record(Batch(Place("worker.py", round)))
                os._exit(0)
            children.append(child)
        for child in children:
            assert os.waitpid(child, 0)[1] == 0
        """,
    )
    assert result.stderr == ""
    assert lines(tmp_path / "run.gradledger") == list(range(40_000))
    assert lines(tmp_path / "run.gradledger7") == [7]
