from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradledger
from gradledger.static.source.magics import neutralised

SOURCES = sorted(Path(gradledger.__file__).parent.rglob("*.py"))


def kept(text: str) -> str:
    lines = neutralised(text.split("\n"))
    ast.parse("\n".join(lines))
    assert len(lines) == text.count("\n") + 1
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("!pip install torch\nx = 1", "pass\nx = 1"),
        ("!!ls", "pass"),
        ("?torch.nn", "pass"),
        ("torch.nn??", "pass"),
        ("x?  # what is it", "pass"),
        ("%time", "pass"),
        ("%time train(model)", "train(model)"),
        ("%timeit -n 10 -r 3 train(model)", "train(model)"),
        ("for x in y:\n    %time train(x)", "for x in y:\n    train(x)"),
        ("%prun -l 5 this is no python", "pass"),
        ("for x in y:\n    !echo {x}", "for x in y:\n    pass"),
        ("if x:\n\t%cd ..\nelse:\n\t!ls", "if x:\n\tpass\nelse:\n\tpass"),
        ("files = !ls", "files = get_ipython()"),
        ("a.b[0] = %sql select 1", "a.b[0] = get_ipython()"),
        ("!pip install \\\n  a \\\n  b\nx = 1", "pass\n\n\nx = 1"),
        ("pip install torch\ncd ..", "pass\npass"),
        ("%%time\nx = 1", "pass\nx = 1"),
        ("\n%%time -q\n%cd ..\nx = 1", "\npass\npass\nx = 1"),
        ("%%capture out\n%%time\nx = 1", "pass\npass\nx = 1"),
        ("%%bash\nls -l\nx = 1", "\n\n"),
        ("%%writefile a.py\nx = 1", "\n"),
        ("%%never_heard_of\nx = 1", "pass\nx = 1"),
        ("%%never_heard_of\nselect * from x", "\n"),
        ("%%html", ""),
        ("  x = 1\n  y = 2", "x = 1\ny = 2"),
        (",f a b", "pass"),
    ],
)
def test_what_is_no_python_is_neutralised_in_its_place(text: str, python: str) -> None:
    assert kept(text) == python


@pytest.mark.parametrize(
    "text",
    [
        "x = (a\n     % b)",
        "x = a \\\n    % b",
        "x = '''\n%magic\n!ls\n'''",
        'x = """\n\\"""\n%magic\n"""\ny = 1',
        "x = [  # (\n    1,\n]\ny = x != 1",
        "print('%d' % 3)\nx %= 2\ny = a %b",
        "x = '!'\ny = '?'  # really?",
        "cd = 1\ncd -1\nls\nrm = cp",
        "",
    ],
)
def test_python_stays_as_it_is(text: str) -> None:
    assert kept(text) == text


def test_what_one_types_in_an_audited_cell_is_not_another_language() -> None:
    assert neutralised(["%%gradledger book", "x = ("]) == ["pass", "x = ("]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_whole_files_of_python_stay_as_they_are(path: Path) -> None:
    # Every file gets a magic at its end, or the quick look would spare it.
    lines = path.read_text(encoding="utf-8").split("\n")
    assert neutralised([*lines, "!ls"]) == [*lines, "pass"]


pieces = st.sampled_from(
    [
        "%",
        "%%",
        "!",
        "?",
        "=",
        " ",
        "\n",
        "\\",
        "'",
        '"""',
        "(",
        ")",
        "#",
        "time",
        "x",
        "bash",
        "\\\n",
    ]
)


@given(st.lists(pieces, max_size=12).map("".join))
def test_no_text_loses_or_gains_a_line(text: str) -> None:
    lines = text.split("\n")
    assert len(neutralised(lines)) == len(lines)
