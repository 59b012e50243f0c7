"""What ranks on other machines leave in the job's store, and how long rank 0 waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from torch._C._distributed_c10d import TCPStore

from gradledger.ledger.outcomes import Tally
from gradledger.ledger.verdict import Verdict
from gradledger.rules import ranks  # by its name `Testimony` would pass for a test
from gradledger.runtime.processes import rendezvous
from gradledger.runtime.processes.rendezvous import Machines

SAID = ranks.Testimony(Verdict("train.py", tally=Tally(steps=3, entries=6), parameters=2), [])
DIED = SAID._replace(end="died", whole=False)


@pytest.fixture
def port() -> Iterator[int]:
    store = TCPStore("127.0.0.1", 0, is_master=True, timeout=timedelta(seconds=5))
    yield store.port
    del store


def machine(number: int, port: int, **told: str) -> Machines:
    """One of two machines with two ranks each."""
    return Machines(
        {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "WORLD_SIZE": "4",
            "LOCAL_WORLD_SIZE": "2",
            "GROUP_RANK": str(number),
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            **told,
        }
    )


def test_what_other_machines_leave_arrives_whole(port: int) -> None:
    assert machine(1, port).leave({2: SAID, 3: DIED})
    assert machine(0, port).gather((2, 3), patience=600) == {2: SAID, 3: DIED}


def test_who_has_not_said_that_it_is_audited_is_not_waited_for_long(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendezvous, "UNANNOUNCED", 0.0)
    machine(1, port).leave({2: SAID})
    assert machine(0, port).gather((2, 3), patience=600) == {2: SAID}


def test_who_is_audited_is_not_waited_for_for_ever(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendezvous, "UNANNOUNCED", 0.0)
    machine(1, port).announce(3)
    assert machine(0, port).gather((3,), patience=0.3) == {}


def test_a_restart_does_not_hear_what_was_left_before_it(port: int) -> None:
    machine(1, port).leave({2: SAID})
    again = machine(0, port, TORCHELASTIC_RESTART_COUNT="1")
    assert again.gather((2,), patience=0) == {}


def test_where_there_is_no_store_nobody_waits() -> None:
    nowhere = 1  # no port that anybody listens at
    assert not machine(1, nowhere).leave({2: SAID})
    assert machine(0, nowhere).gather((2, 3), patience=600) == {}


def test_one_machine_asks_no_store(port: int) -> None:
    alone = machine(0, port, LOCAL_WORLD_SIZE="4")
    assert not alone.several
    assert not alone.leave({0: SAID})
    assert alone.gather((2, 3), patience=600) == {}
