"""The source of an expression, as `ast` writes it."""

import ast
from pathlib import Path

import pytest

import gradledger
from gradledger.static.source import syntax

FILES = sorted(Path(gradledger.__file__).parent.glob("static/**/*.py"))


def test_every_expression_is_written_as_ast_writes_it() -> None:
    expressions = (
        node
        for path in FILES[::10]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.expr) and not isinstance(node, ast.Slice)
    )
    asked = [node for node in expressions if node.end_lineno == node.lineno]
    assert len(asked) > 1000
    for node in asked:
        assert syntax.unparse(node) == ast.unparse(node)


@pytest.mark.parametrize(
    "code",
    [
        "1 .real",
        "True.real",
        "f(1)[x](y).z",
        "a[b, 0]",
        "a[0]()",
        "f(*a)",
        "f(a, b=1)",
        "f((a, b))",
    ],
)
def test_what_stands_behind_what(code: str) -> None:
    node = ast.parse(code, mode="eval").body
    assert syntax.unparse(node) == ast.unparse(node)
