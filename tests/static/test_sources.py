from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradledger.static.source.files import Source, Trouble, from_bytes, parse, read


def text_of(data: bytes) -> str:
    source = from_bytes("a.py", data)
    assert isinstance(source, Source), source
    return source.text


def trouble_of(data: bytes, path: str = "a.py") -> Trouble:
    source = from_bytes(path, data)
    found = parse(source) if isinstance(source, Source) else source
    assert isinstance(found, Trouble)
    assert found.path == path
    assert "\n" not in found.message
    return found


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("x = 'é'\n".encode(), "x = 'é'\n"),
        ("\ufeffx = 'é'\n".encode(), "x = 'é'\n"),
        ("# coding: latin-1\nx = 'é'\n".encode("latin-1"), "# coding: latin-1\nx = 'é'\n"),
        ("#!/bin/x\n# vim: set fileencoding=cp1251 :\nж".encode("cp1251"), None),
        ("\n# -*- coding: shift_jis -*-\n'あ'".encode("shift_jis"), None),
        ("# coding=utf-8\r\nx = 'é'\r\n".encode(), None),
        ("\ufeff# coding: utf-8\nx".encode(), "# coding: utf-8\nx"),
        (b"x = 1\n# coding: no-such-thing\n", None),
        (b"x = 1\x0c\n", None),
        (b"", ""),
    ],
)
def test_a_file_is_read_as_python_reads_it(data: bytes, text: str | None) -> None:
    assert ast.dump(ast.parse(text_of(data))) == ast.dump(ast.parse(data))
    assert text is None or text_of(data) == text


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"x = 1\ny = '\xe9'\n", 2, "0xe9 on this line is not utf-8. Save the file as UTF-8"),
        (b"# coding: ascii\ny = '\xe9'\n", 2, "not ascii, the encoding that the file declares"),
        (b"# coding: klingon\n", 1, "the encoding 'klingon', which Python does not know"),
        (b"# coding: rot13\n", 1, "'rot13'"),
        (b"# coding: hex\n", 1, "'hex'"),
        (b"# coding: undefined\n", 1, "'undefined'"),
        ("x = 1\n".encode("utf-16"), 1, "UTF-16, which Python does not read. Save it as UTF-8"),
        (b"\xfe\xff" + "x = 1\n".encode("utf-16-be"), 1, "UTF-16"),
        ("x = 1\n".encode("utf-32"), 1, "UTF-32"),
        (b"x = 1\ny = '\0'\n", 2, "NUL"),
        (b"x = 1\nprint 'hello'\n", 2, "looks like Python 2"),
        (b"try:\n    pass\nexcept A, e:\n    pass\n", 3, "looks like Python 2"),
        (b"x = 0777\n", 1, "looks like Python 2"),
        (b"x = 1\ndef f(:\n", 2, "it is not Python as 3."),
        (b"if x:\ny\n", 2, "expected an indented block"),
        (b"x = 1\n    y\n", 2, "unexpected indent"),
        (b"x = (\n", 1, "never closed"),
        (b"# coding: unicode_escape\nx = '\\udc00'\n", 0, "surrogates not allowed"),
    ],
)
def test_what_is_no_python_is_told_in_a_line(data: bytes, line: int, words: str) -> None:
    found = trouble_of(data)
    assert words in found.message
    assert found.line == line


@pytest.mark.parametrize(
    "code",
    [
        "(" * 5_000 + ")" * 5_000,
        "x = " + "-" * 100_000 + "1",
        "x = " + "[" * 150 + "]" * 150,
        "x" + ".y" * 100_000,
        "x = " + "1 + " * 100_000 + "1",
        "\n".join(" " * n + "if x:" for n in range(150)),
    ],
    ids=["parentheses", "signs", "lists", "attributes", "sums", "blocks"],
)
def test_code_that_is_nested_too_deeply_is_told_and_not_the_end(code: str) -> None:
    found = from_bytes("a.py", code.encode())
    assert isinstance(found, Source)
    tree = parse(found)
    # Python's parser is better at some of these from one version to the next.
    assert isinstance(tree, ast.Module) or "deeply" in tree.message or "it is not" in tree.message


def test_the_tree_is_made_once_and_without_warnings() -> None:
    source = from_bytes("a.py", b"x = '\\d'\nassert (1, 'x')\ny is 1\n")
    assert isinstance(source, Source)
    assert isinstance(parse(source), ast.Module)
    assert parse(source) is parse(source)


def test_a_file_that_can_not_be_read_is_told(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.py"):
        found = read(str(path))
        assert isinstance(found, Trouble)
        assert found[:2] == (str(path), 0)
        assert "it can't be read: " in found.message
    assert isinstance(read("a\0.py"), Trouble)


def test_a_pipe_that_is_named_is_read_to_its_end() -> None:
    end, pipe = os.pipe()
    os.write(pipe, b"x = 1\n")
    os.write(pipe, b"y = 2\n")
    os.close(pipe)
    try:
        source = read(f"/dev/fd/{end}")
    finally:
        os.close(end)
    assert isinstance(source, Source)
    assert source.text == "x = 1\ny = 2\n"


@given(
    st.binary(max_size=80), st.sampled_from([b"", b"# coding: ", b"#coding=utf-8\n", b"\xff\xfe"])
)
def test_no_bytes_break_it(data: bytes, start: bytes) -> None:
    for path in ("a.py", "a.ipynb"):
        source = from_bytes(path, start + data)
        if isinstance(source, Source):
            parse(source)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_devices_and_pipes_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "endless.py").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "waits.py")
    for name in ("endless.py", "waits.py"):
        found = read(str(tmp_path / name))
        assert isinstance(found, Trouble)
        assert "a device or a pipe" in found.message


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="no pipes by number here")
def test_a_pipe_that_a_shell_gives_in_the_place_of_a_file_is_read() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"x = 1\n")
    os.close(writer)
    found = read(f"/dev/fd/{reader}")
    os.close(reader)
    assert isinstance(found, Source)
    assert found.text == "x = 1\n"
