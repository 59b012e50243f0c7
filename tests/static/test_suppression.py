from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradledger.rules import CATALOGUE
from gradledger.static.source.comments import comments
from gradledger.static.source.suppression import IgnoreComments

ALL = frozenset(rule.code for rule in CATALOGUE)


def ignored(text: str, rule: str = "GL101") -> set[int]:
    """The lines at which a finding of the rule would be ignored."""
    text = textwrap.dedent(text)
    read = IgnoreComments(text)
    return {line for line in range(1, text.count("\n") + 1) if read.of(rule, line)}


def test_a_comment_ignores_findings_on_its_line_and_no_other() -> None:
    assert ignored("a()\nb()  # gradledger: ignore[GL101] it is so\nc()\n") == {2}


@pytest.mark.parametrize(
    ("said", "rules"),
    [
        ("ignore[GL101]", {"GL101"}),
        ("ignore[GL101,GL203]", {"GL101", "GL203"}),
        ("ignore[ gl101 , window-left-over ]", {"GL101", "GL203"}),
        ("ignore[GL4]", {"GL401", "GL402", "GL403", "GL404", "GL405"}),
        ("ignore", ALL),
        ("ignore it is all on purpose", ALL),
        ("ignore [GL101]", {"GL101"}),
    ],
)
def test_rules_are_named_by_code_by_name_or_by_law_and_all_are_meant_without(
    said: str, rules: set[str]
) -> None:
    read = IgnoreComments(f"step()  # gradledger: {said}\n")
    assert {code for code in ALL if read.of(code, 1)} == rules
    assert read.mistakes == []


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("ignore[GL101] the step is free", "the step is free"),
        ("ignore[GL101]: the step is free", "the step is free"),
        ("ignore[GL101] - why not", "why not"),
        ("ignore[GL101]", ""),
        ("ignore because [of] it", "because [of] it"),
        ("ignore[GL101] größe  # noqa", "größe  # noqa"),
    ],
)
def test_the_reason_is_what_follows(said: str, reason: str) -> None:
    found = IgnoreComments(f"step()  # noqa: E1 # gradledger: {said}\n").of("GL101", 1)
    assert found is not None
    assert found.reason == reason


def test_any_line_of_the_statement_will_do() -> None:
    text = """\
        before()
        optimizer.step(  # gradledger: ignore[GL101]
            closure,
        )
        torch.nn.utils.clip_grad_norm_(
            model.parameters(),
            # gradledger: ignore[GL101] inside of it
            1.0,
        ); after()
        total = one + \\
            two  # gradledger: ignore[GL101]
        last()
        """
    assert ignored(text) == {2, 3, 4, 5, 6, 7, 8, 9, 10, 11}


def test_the_head_of_a_loop_speaks_for_the_whole_loop() -> None:
    text = """\
        for epoch in range(3):  # gradledger: ignore[GL101]
            # A comment.
            for x in loader:
                step()

                if x:
                    step()
        # Another one.
        step()
        """
    # What is a comment or empty is between statements, and has no findings.
    assert ignored(text) == {1, 2, 3, 4, 5, 6, 7}


@pytest.mark.parametrize(
    "head", ["while x:", "async for x in y:", "for x in y :", "for x in (\n y):"]
)
def test_every_kind_of_loop_has_a_head(head: str) -> None:
    text = f"async def f():\n  {head}  # gradledger: ignore\n    step()\n  step()\n"
    last = text.count("\n")
    assert ignored(text) == set(range(2, last))


@pytest.mark.parametrize("head", ["if x:", "with x:", "def f():", "try:", "class C:"])
def test_the_head_of_another_block_speaks_for_itself_alone(head: str) -> None:
    text = f"{head}  # gradledger: ignore\n    step()\n"
    assert ignored(text + "finally: pass\n" * (head == "try:")) == {1}


def test_loops_end_where_python_ends_them() -> None:
    text = """\
        def f():
            while True:  # gradledger: ignore[GL101]
                step()
            else:
                step()
            for x in y: step()  # gradledger: ignore[GL101]
            step()
        step()
        """
    assert ignored(text) == {2, 3, 6}


def test_a_comment_of_its_own_line_ignores_nothing_but_may_speak_for_the_file() -> None:
    assert ignored("# gradledger: ignore[GL101]\nstep()\n") == {1}
    assert ignored("step()\n\n# gradledger: ignore-file[GL101] old\nstep()\n") == {1, 2, 3, 4}
    assert ignored("# gradledger: ignore-file[GL203]\nstep()\n") == set()


def test_the_nearest_comment_gives_the_reason() -> None:
    text = (
        "# gradledger: ignore-file file\nfor x in y:  # gradledger: ignore loop\n"
        "    step()  # gradledger: ignore line\n    step()\nstep()\n"
    )
    read = IgnoreComments(text)
    reasons = [found.reason for line in (3, 4, 5) if (found := read.of("GL101", line))]
    assert reasons == ["line", "loop", "file"]


@pytest.mark.parametrize(
    "text",
    [
        's = "# gradledger: ignore"\n',
        's = """\n# gradledger: ignore-file\n"""\n',
        'f"{x}# gradledger: ignore-file"\n',
        "# about gradledger: ignore-file is a word\n",
        "step()  # gradledger ignore\n",
    ],
)
def test_what_only_looks_like_such_a_comment_is_none(text: str) -> None:
    assert ignored(text) == set()
    assert IgnoreComments(text).mistakes == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("ignore[GL999]", "no rule is called 'GL999'"),
        (
            "ignore[GL101, spent-gradients]",
            "no rule is called ' spent-gradients'. Did you mean GL101",
        ),
        ("ignore[GL101", "the bracket after `ignore` is never closed"),
        ("ignore[]", "`ignore[]` names no rule"),
        ("ingore[GL101]", "`ingore` ignores nothing. Did you mean `ignore`?"),
        ("ignore_file", "`ignore_file` ignores nothing. Did you mean `ignore-file`?"),
    ],
)
def test_a_slip_is_told_with_its_line(said: str, told: str) -> None:
    (mistake,) = IgnoreComments(f"\nstep()  # gradledger: {said}\n").mistakes
    assert mistake.line == 2
    assert mistake.message.startswith(told)


def test_a_misspelt_rule_leaves_those_beside_it_as_they_are() -> None:
    assert ignored("step()  # gradledger: ignore[GL999, GL101]\n") == {1}
    assert ignored("step()  # gradledger: ignore[GL999]\n") == set()


def test_prose_that_begins_with_our_name_is_no_slip() -> None:
    assert IgnoreComments("# gradledger: see the docs\n").mistakes == []


def test_what_ignored_nothing_is_known() -> None:
    text = "a()  # gradledger: ignore[GL101]\nb()  # gradledger: ignore[GL203]\n"
    text += "c()  # gradledger: ignore\n"
    read = IgnoreComments(text)
    read.of("GL101", 1)
    assert [ignore.line for ignore in read.unused(ALL)] == [2, 3]
    # Nobody asked about GL203, so nobody knows.
    assert [ignore.line for ignore in read.unused({"GL101"})] == [3]


def test_a_text_that_ends_in_the_middle_keeps_the_comments_before_it() -> None:
    for end in ("(", "'''", "  odd\n odder", "\\"):
        assert 1 in ignored(f"step()  # gradledger: ignore\n{end}\n")


@given(st.text(alphabet="\n\t #:()'\"\\abfor while:x[]GL10,-", max_size=80))
def test_no_text_is_too_strange(text: str) -> None:
    for comment in comments(text):
        assert comment.first <= comment.line <= comment.last
    IgnoreComments(f"{text}# gradledger: ignore{text}").of("GL101", 1)
