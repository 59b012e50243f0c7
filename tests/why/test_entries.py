"""The data is complete, names real rules, and is found by the words that people use."""

from __future__ import annotations

import re

import pytest

from gradledger.rules import CATALOGUE, find
from gradledger.why import ENTRIES, SYMPTOMS, matches


def test_names_and_titles_are_unique_and_names_are_good_for_addresses() -> None:
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
    assert len({entry.title for entry in ENTRIES}) == len(ENTRIES)
    assert all(re.fullmatch(r"[a-z0-9-]+", entry.name) for entry in ENTRIES)


def test_every_entry_has_causes_and_every_rule_named_exists() -> None:
    for entry in ENTRIES:
        assert entry.causes, entry.name
        for code in entry.rules:
            assert find(code).code == code
        assert len({cause.what for cause in entry.causes}) == len(entry.causes)


def test_every_rule_is_the_cause_of_something() -> None:
    named = {code for entry in ENTRIES for code in entry.rules}
    assert named == {rule.code for rule in CATALOGUE}


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("loss oscillates", "loss-oscillates"),
        ("my loss is NaN after the first step", "loss-nan"),
        ("out of memory after 300 steps", "out-of-memory"),
        ("CUDA memory keeps growing", "out-of-memory"),
        ("slow zero_grad", "slow-zero-grad"),
        ("the model isn't learning", "loss-constant"),
        ("training slows down over time", "slower-each-step"),
        ("gradient accumulation gives different results", "accumulation-worse"),
        ("my GAN collapses", "gan-collapses"),
        ("frozen layers are updated", "frozen-moves"),
        ("clip_grad_norm_ does nothing", "clipping-useless"),
        ("DDP ranks diverge", "ranks-differ"),
        ("learning rate decays too fast", "learning-rate-ends-early"),
        ("unscale_() has already been called", "unscale-twice"),
        ("step() has already been called", "step-twice"),
        ("'NoneType' object has no attribute 'data'", "none-has-no-attribute"),
    ],
)
def test_a_symptom_in_a_persons_words_is_found(words: str, name: str) -> None:
    assert matches(words, ENTRIES)[0].name == name


@pytest.mark.parametrize("words", ["", "   ", "xyzzy", "how do I bake bread", "\0\x1b[31m", "the"])
def test_what_is_about_nothing_finds_nothing(words: str) -> None:
    assert matches(words, ENTRIES) == ()


def test_every_symptom_is_found_by_its_own_title() -> None:
    for entry in SYMPTOMS:
        assert matches(entry.title, ENTRIES)[0] is entry


def test_of_several_messages_the_last_one_comes_first() -> None:
    text = (
        "RuntimeError: step() has already been called since the last update().\n"
        "During handling of the above exception, another exception occurred:\n"
        "RuntimeError: Trying to backward through the graph a second time"
    )
    assert [entry.name for entry in matches(text, ENTRIES)] == [
        "backward-second-time",
        "step-twice",
    ]
