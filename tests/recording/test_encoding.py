from __future__ import annotations

import math
import sqlite3
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradledger.errors import InternalError
from gradledger.ledger.events import Edit, Event
from gradledger.ledger.findings import Evidence
from gradledger.ledger.places import Place
from gradledger.ledger.values import Value
from gradledger.recording.encoding import (
    UnknownToThisVersion,
    decode_event,
    decode_evidence,
    encode_event,
    encode_evidence,
    event_types,
)
from gradledger.recording.interning import REMEMBERED, Interning
from gradledger.recording.rows import Rows
from gradledger.recording.schema import CREATE

TEXT = st.text(st.characters(), max_size=5)  # with lone surrogates, as odd file names have
INTEGERS = st.integers(-(2**63), 2**63 - 1)
PLACES = st.recursive(
    st.builds(Place, TEXT, INTEGERS, INTEGERS),
    lambda via: st.builds(Place, TEXT, INTEGERS, INTEGERS, via),
    max_leaves=3,
)
AT = Place("train.py", 1)
RECORDED = [kind for kind in event_types().values() if kind.__module__ == Event.__module__]
"""Without the checker's own events, which no recording holds."""


def values(hint: Any) -> st.SearchStrategy[Any]:
    """All that a field with this annotation may hold."""
    origin, args = get_origin(hint), get_args(hint)
    known = {
        str: TEXT,
        int: st.integers(),
        bool: st.booleans(),
        float: st.floats(allow_nan=False),
        types.NoneType: st.none(),
        Place: PLACES,
    }
    if hint in known:
        return known[hint]
    if origin is Literal:
        return st.sampled_from(args)
    if origin is frozenset:
        return st.frozensets(values(args[0]), max_size=4)
    if origin is tuple:
        return st.lists(values(args[0]), max_size=3).map(tuple)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(values, args))
    assert isinstance(hint, type), f"say here what a field of {hint} may hold"
    hints = get_type_hints(hint, localns={"Any": Any, "ClassVar": ClassVar, "Literal": Literal})
    assert issubclass(hint, Value)
    return st.builds(hint, **{name: values(hints[name]) for name in hint.fields})


@contextmanager
def rows_of(interning: Interning) -> Iterator[Rows]:
    """The interned rows, in a real database."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(CREATE)
    for table, rows in interning.new.items():
        for row in rows:
            connection.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
    try:
        yield Rows(connection)
    finally:
        connection.close()


@pytest.mark.parametrize("kind", RECORDED, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_every_event_comes_back_exactly(kind: type[Event], data: st.DataObject) -> None:
    event = data.draw(values(kind))
    interning = Interning()
    id = interning.fact(event)
    with rows_of(interning) as rows:
        returned = rows.fact(id)
    assert returned == event
    assert type(returned) is kind


@given(values(tuple[Evidence, ...]))
def test_evidence_comes_back_exactly(evidence: tuple[Evidence, ...]) -> None:
    interning = Interning()
    stored = encode_evidence(evidence, interning)
    with rows_of(interning) as rows:
        assert decode_evidence(stored, rows) == evidence


@pytest.mark.parametrize("factor", [math.nan, math.inf, -math.inf])
def test_a_factor_that_is_no_number_is_valid_json_and_comes_back(factor: float) -> None:
    interning = Interning()
    id = interning.fact(Edit(AT, frozenset(), "scale", factor))
    with rows_of(interning) as rows:
        assert rows._connection.execute("SELECT json_valid(payload) FROM facts").fetchone() == (1,)
        event = rows.fact(id)
    assert isinstance(event, Edit)
    assert repr(event.factor) == repr(factor)


def test_equal_facts_are_written_once() -> None:
    interning = Interning()
    ids = {interning.fact(Edit(Place("a.py", 1), frozenset({"w"}), "change")) for _ in range(9)}
    assert len(ids) == 1
    assert {table: len(rows) for table, rows in interning.new.items() if rows} == {
        "places": 1, "cells": 1, "cell_sets": 1, "cell_set_members": 1, "facts": 1,
    }  # fmt: skip


def test_facts_and_sets_that_never_repeat_do_not_fill_the_memory() -> None:
    interning = Interning()
    for n in range(3 * REMEMBERED):
        interning.fact(Edit(AT, frozenset({f"leaf{n}"}), "change"))
        assert len(interning._facts) <= REMEMBERED
        assert len(interning._cell_sets) <= REMEMBERED


def test_an_annotation_without_an_encoding_is_our_own_bug_and_named() -> None:
    class Odd(Value):
        table: bytes

    from gradledger.recording import encoding

    with pytest.raises(InternalError, match="no encoding for <class 'bytes'>"):
        encoding._codec(Odd).encode(Odd(b""), Interning())


@pytest.mark.parametrize(
    ("kind", "payload", "named"),
    [("Teleport", "{}", "the event Teleport"), ("Batch", '{"size": 3}', r"Batch\.size")],
)
def test_what_a_newer_version_added_is_named(kind: str, payload: str, named: str) -> None:
    with rows_of(Interning()) as rows, pytest.raises(UnknownToThisVersion, match=named):
        decode_event(kind, AT, payload, rows)


def test_a_field_that_an_older_version_lacked_has_its_default() -> None:
    interning = Interning()
    cells = interning.cells(frozenset({"w"}))
    with rows_of(interning) as rows:
        clear = decode_event("Clear", AT, f'{{"cells":{cells}}}', rows)
    assert encode_event(clear, interning) == '{"cells":1,"to_none":true}'
