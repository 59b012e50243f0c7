"""Code in colour: HTML with a class for each kind of word, so that both themes can paint it."""

from __future__ import annotations

from functools import lru_cache

from markupsafe import Markup, escape
from pygments import lex
from pygments.lexers import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

_CLASSES: dict[_TokenType, str] = {
    Comment: "c",
    Keyword: "k",
    Operator.Word: "k",
    String: "s",
    Number: "m",
    Name.Decorator: "d",
    Name.Builtin: "b",
    Name.Function: "f",
    Name.Class: "f",
}
"""Few colours: a frame is read, not admired."""


@lru_cache(maxsize=4096)
def painted(line: str) -> Markup:
    """A line of Python, escaped, its words in spans."""
    made = Markup()
    for kind, text in lex(line, _lexer()):
        shown = escape(text.rstrip("\n"))
        name = next((_CLASSES[k] for k in reversed(kind.split()) if k in _CLASSES), "")
        made += Markup('<span class="{}">{}</span>').format(name, shown) if name else shown
    return made


@lru_cache(maxsize=1)
def _lexer() -> PythonLexer:
    return PythonLexer(stripnl=False, ensurenl=False)
