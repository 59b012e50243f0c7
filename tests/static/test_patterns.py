from __future__ import annotations

import importlib
import pkgutil
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradledger.static
from gradledger.static.source.patterns import (
    Pattern,
    Words,
    first_word,
    last_word,
    lines_of,
    literal,
    says,
)


def _with_words() -> dict[str, Pattern]:
    """All the patterns of the checker that say which words they have, by name."""
    found = {}
    for module in pkgutil.walk_packages(gradledger.static.__path__, "gradledger.static."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, Pattern) and value.words:
                found[name] = value
    return found


WITH_WORDS = _with_words()
each_with_words = pytest.mark.parametrize("pattern", WITH_WORDS.values(), ids=WITH_WORDS)


def test_there_are_patterns_with_words() -> None:
    assert {"DEPOSITS", "SPENDS", "TOUCHES"} <= WITH_WORDS.keys()


@each_with_words
@given(data=st.data())
def test_what_a_pattern_matches_is_on_one_line_and_has_one_of_its_words(
    pattern: Pattern, data: st.DataObject
) -> None:
    matched = data.draw(st.from_regex(pattern.pattern, fullmatch=True))
    assert any(word in matched for word in pattern.words)
    assert len(lines_of(matched)) == 1


@each_with_words
@given(data=st.data(), end=st.sampled_from(["\n", "\r\n", "\r"]))
def test_by_its_words_a_pattern_is_found_on_the_same_lines(
    pattern: Pattern, data: st.DataObject, end: str
) -> None:
    around = st.sampled_from(["", " ", "x", "def ", "x.", "y = ", "(", "_"])
    said = st.sampled_from([*pattern.words, "def backward(", "optim", "a.gradient", ".grad", "x"])
    line = st.tuples(around, said, around).map("".join)
    text = end.join(data.draw(st.lists(line, max_size=6)))
    lines = lines_of(text)
    by_words, by_pattern = Words(lines), Words(lines)
    without = Pattern(pattern.pattern)
    for n in range(1, len(lines) + 1):
        assert by_words.match(pattern, n, n) == by_pattern.match(without, n, n)


def test_a_pattern_is_compiled_when_it_is_first_asked() -> None:
    broken = Pattern("(")
    with pytest.raises(re.error):
        broken.search("text")


def test_a_pattern_that_was_asked_once_is_not_compiled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pattern = Pattern(r"(?i)\w+")
    assert pattern.findall("a b") == ["a", "b"]
    monkeypatch.setattr(re, "compile", None)
    assert pattern.findall("c") == ["c"]


@pytest.mark.parametrize("line", ["loss.backward()", "if x: loss.backward()  # now"])
def test_a_line_of_code_says_it(line: str) -> None:
    assert says(f"import torch\n    {line}\nx = 1", WITH_WORDS["DEPOSITS"])
    assert says(line, WITH_WORDS["DEPOSITS"])


@pytest.mark.parametrize(
    "line", ["# loss.backward()", ">>> loss.backward()", "... loss.backward()", "def backward(x):"]
)
def test_an_example_or_a_definition_does_not(line: str) -> None:
    assert not says(f"import torch\n    {line}\nx = 1", WITH_WORDS["DEPOSITS"])


@given(st.text())
def test_a_literal_is_what_re_would_have_escaped(text: str) -> None:
    assert literal(text) == re.escape(text)


@given(st.text())
def test_a_word_is_made_of_what_patterns_take_for_letters(text: str) -> None:
    assert [first_word(text)] == re.findall(r"\A\w*", text)
    assert [last_word(text)] == re.findall(r"\w*\Z", text)[:1]
