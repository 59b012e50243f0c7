from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gradledger.report.page.packing import packed, unpacked

NUMBERS = st.lists(st.integers(0, 3), max_size=200)


@given(NUMBERS)
def test_what_is_packed_comes_out_again(numbers: list[int]) -> None:
    assert unpacked(packed(numbers)) == numbers


@given(st.lists(st.integers(0, 2**32 - 1), max_size=60))
def test_large_numbers_do_too(numbers: list[int]) -> None:
    assert unpacked(packed(numbers)) == numbers


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(2, 40))
def test_what_repeats_is_written_about_once(period: list[int], times: int) -> None:
    numbers = period * times
    made = packed(numbers)
    assert unpacked(made) == numbers
    assert len(made) <= len(packed(period)) + 2 * len(period) + 4


def test_a_million_turns_in_epochs_are_a_few_numbers() -> None:
    epoch = [0] + [1] * 1998 + [2]
    made = packed(epoch * 500)
    assert len(made) < 20
    assert unpacked(made) == epoch * 500


def test_what_never_repeats_is_written_as_it_is() -> None:
    assert packed(range(1000)) == list(range(1000))
