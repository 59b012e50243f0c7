"""F-strings of Python 3.12 and later, read by any Python."""

from __future__ import annotations

import ast
import sys

import pytest

from gradledger.static.source.f_strings import requoted
from gradledger.static.source.parsing import NotPython, tree

OLD = sys.version_info < (3, 12)

SAME = {
    'f"{row["loss"]:.3f} of {row[\'n\']}"': "f\"{row['loss']:.3f} of {row['n']}\"",
    "f'{row['loss']!r}'": "f'{row[\"loss\"]!r}'",
    'f"{", ".join(names)} {{"': "f\"{', '.join(names)} {{\"",
    'rf"\\d{row["loss"]}"': "rf\"\\d{row['loss']}\"",
    '# it\'s\nt = """a "word" {"""\nf"{row["loss"]}"': (
        '# it\'s\nt = """a "word" {"""\nf"{row[\'loss\']}"'
    ),
}


@pytest.mark.parametrize(("newer", "older"), SAME.items())
def test_an_older_python_reads_the_same_in_the_same_places(newer: str, older: str) -> None:
    assert requoted(newer) == older
    assert len(newer) == len(older)
    assert ast.dump(tree(newer)) == ast.dump(tree(older))


@pytest.mark.parametrize(
    "text",
    ['f"{f"{x}"}"', 'f"{row["it\'s"]}"', 'f"{row["a\\n"]}"', 'f"{x:{"a"}}"', 'f"{row["a"'],
)
def test_what_other_quotes_do_not_cure_is_left_alone(text: str) -> None:
    assert requoted(text) is None


def test_what_is_wrong_for_another_reason_stays_wrong() -> None:
    with pytest.raises(NotPython):
        tree('f"{row["loss"]}"\nf"{x!}"')


@pytest.mark.skipif(not OLD, reason="this Python reads them itself")
def test_what_an_older_python_reads_itself_is_never_changed() -> None:
    text = "f\"{row['loss']}\" + 'it' + f'{x}'"
    assert requoted(text) == text
