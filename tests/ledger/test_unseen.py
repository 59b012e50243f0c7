from __future__ import annotations

import pytest

from gradledger.ledger.unseen import KINDS, Unseen, latest, summed


def test_a_phrase_has_the_count_and_the_reason() -> None:
    weights = Unseen("weights", "the loss is compiled", 1400)
    assert weights.phrase == "the weights of 1,400 windows (the loss is compiled)"
    assert Unseen("steps", "").phrase == "1 step"


def test_processes_are_told_by_their_names() -> None:
    both = Unseen("processes", "not Python's", 2, ("4123", "4124"))
    assert both.phrase == "processes 4123, 4124 (not Python's)"


def test_many_processes_are_counted_and_nameless_ones_too() -> None:
    many = Unseen("processes", "", 9, tuple(map(str, range(9))))
    assert many.phrase == "processes 0, 1, 2, 3, 4, 5, and 3 more"
    assert Unseen("processes", "gone", 3).phrase == "3 processes (gone)"
    assert Unseen("processes", "gone", 1).phrase == "1 process (gone)"


def test_a_kind_of_a_newer_version_is_told_as_it_is_called() -> None:
    assert Unseen("kernels", "fused", 1200).phrase == "1,200 kernels (fused)"


@pytest.mark.parametrize("what", KINDS)
def test_every_kind_has_a_phrase(what: str) -> None:
    assert Unseen(what, "why", 2, ("a", "b")).phrase.endswith(" (why)")


def test_counts_of_one_reason_add_up_and_names_count_once() -> None:
    a = Unseen("deposits", "sharded", 2, ("w", "b"))
    b = Unseen("deposits", "sharded", 2, ("b", "c"))
    c, d = Unseen("steps", "x", 3), Unseen("steps", "x", 4)
    assert summed((a, c, b, d)) == (
        Unseen("deposits", "sharded", 3, ("w", "b", "c")),
        Unseen("steps", "x", 7),
    )


def test_things_without_names_add_up_with_those_that_have_some() -> None:
    named, nameless = Unseen("deposits", "x", 2, ("w", "b")), Unseen("deposits", "x", 5)
    assert summed((named, nameless, named)) == (Unseen("deposits", "x", 7, ("w", "b")),)


def test_of_two_notes_of_one_process_the_larger_count_stands() -> None:
    early = Unseen("steps", "x", 3), Unseen("clips", "y")
    late = Unseen("steps", "x", 7), Unseen("clears", "z")
    assert latest(early, late) == (late[0], early[1], late[1]) == latest(early, (*late, early[0]))
