"""The names by which code reaches objects, and their parts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gradledger.static.ir.keys import wholes_of, within


@given(st.text("ab.[]", max_size=8))
def test_the_wholes_of_a_key_are_all_that_it_is_within(key: str) -> None:
    starts = {key[:length] for length in range(len(key))}
    assert {*wholes_of(key)} == {start for start in starts if within(key, start)}
