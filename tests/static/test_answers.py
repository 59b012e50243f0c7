"""Which answers cannot be true together."""

from __future__ import annotations

import pytest

from gradledger.static.ir.answers import Answer, exclude, is_given

GIVEN = is_given("path")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(("path", True), ("path", False), id="yes and no"),
        pytest.param((GIVEN, False), ("path", True), id="what is None is not true"),
        pytest.param((GIVEN, False), ("path Eq 'a'", True), id="what is None is nothing else"),
        pytest.param(("path Eq 'a'", True), ("path Eq 'b'", True), id="equal to two"),
        pytest.param(("path Eq 'a'", True), ("path", False), id="a text is true"),
        pytest.param(("path Eq 0", True), ("path", True), id="zero is not"),
    ],
)
def test_these_exclude_each_other(one: Answer, other: Answer) -> None:
    assert exclude(one, other)
    assert exclude(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param((GIVEN, True), ("path", False), id="an empty text is given"),
        pytest.param((GIVEN, False), ("path", False), id="None is not true"),
        pytest.param(("path Eq 'a'", False), ("path Eq 'b'", False), id="equal to neither"),
        pytest.param(("path Eq 'a'", True), (GIVEN, True), id="a text is given"),
        pytest.param((GIVEN, False), ("other", True), id="of two values"),
        pytest.param(("path Eq one", True), ("path Eq two", True), id="two names for one value"),
    ],
)
def test_these_can_be_true_together(one: Answer, other: Answer) -> None:
    assert not exclude(one, other)
    assert not exclude(other, one)
