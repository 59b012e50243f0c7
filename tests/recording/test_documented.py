"""docs/recording.md says what is so."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradledger.ledger.events import Event
from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.recording import Recorder, Recording, schema

PAGE = (Path(__file__).parents[2] / "docs" / "recording.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
FIRST_VERSION = Path(__file__).with_name("version_1.sql")


@pytest.fixture
def connection(recorder: Recorder, one_step: tuple[Event, ...]) -> Iterator[sqlite3.Connection]:
    for step in range(5):
        for event in one_step:
            recorder.record(event)
        for n, cell in enumerate(["", "net.0.weight", "net.0.bias"]):
            recorder.measure("gradient norm", step * 10.0 - n, step=step, cell=cell)
    recorder.note_finding(Finding("GL101", Place("train.py", 2), "twice", "observed"))
    recorder.source("train.py", "import torch")
    recorder.remark("subject", "train.py")
    recorder.close()
    connection = sqlite3.connect(recorder.path)
    yield connection
    connection.close()


def test_the_queries_give_what_they_say(connection: sqlite3.Connection) -> None:
    if sqlite3.sqlite_version_info < (3, 38):
        pytest.skip("this SQLite has no ->>")
    steps, deposits, norms = (connection.execute(query).fetchall() for query in QUERIES)
    assert sum(count for _, _, count in steps) == 5
    assert {optimizer for _, optimizer, _ in steps} == {"AdamW"}
    assert deposits == [("train.py", 20, 5)]
    assert norms == [("net.0.weight", 4, 39.0), ("net.0.bias", 4, 38.0)]


def test_every_column_is_explained(connection: sqlite3.Connection) -> None:
    explained = re.sub(r"(?m)^#.*", "", PAGE)
    names = [n for (n,) in connection.execute("SELECT name FROM sqlite_master WHERE sql NOT NULL")]
    assert {*schema.TABLES, "events"} == set(names)
    for table in names:
        assert f"`{table}`" in PAGE
        for _, column, *_ in connection.execute(f"PRAGMA table_info({table})"):
            row = rf"(?m)^\| [^|]*`({table}\.)?{column}`"
            assert re.search(row, explained), f"{table}.{column}"


def test_the_tables_are_as_the_writer_thinks(connection: sqlite3.Connection) -> None:
    for table, columns in schema.TABLES.items():
        found = [column for _, column, *_ in connection.execute(f"PRAGMA table_info({table})")]
        assert found == list(columns)


def test_the_identity_is_the_one_in_the_file(connection: sqlite3.Connection) -> None:
    identity = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in
                ("application_id", "user_version")]  # fmt: skip
    assert identity == [schema.APPLICATION_ID, schema.VERSION]
    assert f"`0x{schema.APPLICATION_ID:X}`" in PAGE
    assert f"which is {schema.VERSION}." in PAGE


def test_a_recording_of_the_first_version_still_opens(tmp_path: Path) -> None:
    path = tmp_path / "run.gradledger"
    connection = sqlite3.connect(path)
    connection.executescript(FIRST_VERSION.read_text(encoding="utf-8"))
    connection.close()
    with Recording(path) as recording:
        assert recording.ended
        assert recording.run.versions["torch"] == "2.13.0"
        kinds = [type(recorded.event).__name__ for recorded in recording.events()]
        assert kinds == ["Own", "Clear", "Backward", "Step", "Backward", "Step", "RunEnd"]
        (noted,) = recording.findings()
        assert (noted.finding.rule, str(noted.finding.at)) == ("GL101", "train.py:12")
        assert [str(e.at) for e in noted.finding.evidence] == ["train.py:20", "train.py:12"]
        assert [measure.value for measure in recording.measures()] == [0.5, 0.75]
        assert recording.sources() == {"train.py": "import torch\n"}
        assert recording.remarks() == ()
        assert recording.fingerprints() == []
