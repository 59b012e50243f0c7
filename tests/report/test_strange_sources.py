"""Sources, paths and names are other people's: none of them breaks a report, or a terminal."""

from __future__ import annotations

import io
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradledger.ledger import Evidence, Finding, Place
from gradledger.ledger.verdict import Verdict
from gradledger.report import FORMATS, render
from tests.report.rendered import rendered

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\b\b"


def at_line(number: int, source: str | None, *, path: str = "t.py", column: int = 0) -> Verdict:
    """A finding at a line, with evidence on the line above it."""
    finding = Finding(
        "GL101",
        Place(path, number, column),
        "spends it again",
        "observed",
        (Evidence("deposited", Place(path, number - 1)), Evidence("cleared", None, "never")),
        frozenset({"weight"}),
    )
    return Verdict("t.py", (finding,), sources={} if source is None else {path: source})


def carets(said: str) -> tuple[str, str]:
    """The marked line of code, and the signs below it."""
    rows = said.splitlines()
    (n,) = (n for n, row in enumerate(rows) if "^" in row)
    return rows[n - 1].split(" | ", 1)[1], rows[n].split(" | ", 1)[1].rpartition("^")[0] + "^"


@pytest.mark.parametrize("source", [None, "", "one line\n"], ids=["deleted", "empty", "too short"])
def test_without_the_line_there_is_no_frame_and_still_all_the_rest(source: str | None) -> None:
    said = rendered(at_line(40, source))
    assert " | " not in said
    assert "   spends it again\n" in said
    assert "   deposited  t.py:39" in said
    assert " = fix: " in said


@pytest.mark.parametrize("path", ["<stdin>", "<ipython-input-3-5f2a>", "", "cell 3"])
@pytest.mark.parametrize("format", FORMATS)
def test_code_from_no_file_is_reported_all_the_same(path: str, format: str) -> None:
    assert "GL101" in rendered(at_line(2, "a\nb()\n", path=path), format)


@pytest.mark.parametrize("line", [0, -1])
@pytest.mark.parametrize("format", FORMATS)
def test_a_line_that_can_not_be_is_no_reason_to_fail(line: int, format: str) -> None:
    assert "GL101" in rendered(at_line(line, "a\n"), format)


def test_tabs_do_not_shift_the_signs() -> None:
    code, signs = carets(rendered(at_line(2, "if x:\n\t\topt.step(\t1)\n")))
    assert "\t" not in code
    assert (code.index("opt"), len(code)) == (signs.index("^"), len(signs))


def test_wide_letters_take_two_signs() -> None:
    code, signs = carets(rendered(at_line(2, "\n    优化器.step()\n")))
    assert code == "    优化器.step()"
    assert signs == "    " + "^" * (2 * 3 + len(".step()"))


@pytest.mark.parametrize("ending", ["\r\n", "\r", "\n"])
def test_lines_end_as_python_ends_them(ending: str) -> None:
    said = rendered(at_line(2, f"x = 1\f{ending}opt.step(){ending}"))
    assert carets(said) == ("opt.step()", "^" * 10)
    assert "\r" not in said


def test_a_form_feed_does_not_move_the_lines() -> None:
    assert carets(rendered(at_line(3, "a\n\x0c\nopt.step()\n")))[0] == "opt.step()"


def test_a_byte_order_mark_is_not_shown() -> None:
    assert carets(rendered(at_line(1, "\ufeffopt.step()\n"))) == ("opt.step()", "^" * 10)


def test_a_comment_is_shown_and_not_marked() -> None:
    code, signs = carets(rendered(at_line(2, "\n  opt.step('#')  # go\n")))
    assert code == "  opt.step('#')  # go"
    assert signs == "  " + "^" * len("opt.step('#')")


@pytest.mark.parametrize(
    "line", ["opt.step(  # half", "'''  # x", "}  # x", "# only", "$ # \\", "#"]
)
def test_a_line_that_is_no_statement_by_itself_is_marked_too(line: str) -> None:
    assert carets(rendered(at_line(1, line)))[0] == line


def test_a_column_marks_the_call_and_not_what_stands_before_it() -> None:
    line = "  größe(); opt.step()"
    column = len("  größe(); ".encode())
    _, signs = carets(rendered(at_line(1, line, column=column)))
    assert signs == " " * len("  größe(); ") + "^" * len("opt.step()")
    _, signs = carets(rendered(at_line(1, line, column=400)))
    assert signs == "  " + "^" * len(line.strip())


def test_a_very_long_line_is_cut() -> None:
    said = rendered(at_line(2, "\n    step(" + "1, " * 50_000 + ")\n"))
    assert max(map(len, said.splitlines())) < 140
    assert carets(said)[0].endswith("…")


def test_a_very_long_file_costs_nothing_extra_in_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    painted: list[str] = []

    def paint(self: object, code: str, *_: object) -> object:
        from rich.text import Text

        painted.append(code)
        return Text(code)

    monkeypatch.setattr("rich.syntax.Syntax.highlight", paint)
    monkeypatch.setenv("FORCE_COLOR", "1")
    render(at_line(50_000, "opt.step()\n" * 100_000))
    assert "50000" in capsys.readouterr().out
    assert painted == ["opt.step()", "opt.step()"]


def hostile() -> Verdict:
    finding = Finding(
        "GL101",
        Place(f"{ESCAPES}.py", 1),
        f"spends {ESCAPES}",
        "observed",
        (
            Evidence(f"deposited{ESCAPES}", Place(f"{ESCAPES}/b.py", 1), f"by {ESCAPES}"),
            Evidence("cleared", None, f"never{ESCAPES}"),
        ),
        frozenset({f"layer{ESCAPES}.weight\n::error::no"}),
    )
    sources = {f"{ESCAPES}.py": f"opt.step()  # {ESCAPES} </script>", f"{ESCAPES}/b.py": ESCAPES}
    return Verdict(f"{ESCAPES}.py", (finding,), sources=sources)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("quiet", [False, True])
def test_nothing_that_a_terminal_obeys_reaches_it(format: str, quiet: bool) -> None:
    said = rendered(hostile(), format, quiet=quiet)
    assert "GL101" in said
    assert [c for c in said if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c != "\n"] == []


def test_nothing_that_a_terminal_obeys_reaches_it_in_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    render(hostile())
    said = capsys.readouterr().out
    escapes = [part.split("m")[0] for part in said.split("\x1b")[1:]]
    assert escapes
    assert all(set(escape) <= set("[0123456789;") for escape in escapes)
    left = [c for c in said if unicodedata.category(c) in ("Cc", "Cf", "Cs")]
    assert set(left) == {"\n", "\x1b"}


def test_what_looks_like_markup_is_shown_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    verdict = at_line(1, "x[red]('</script>')[/red] :smile:")
    render(verdict)
    said = capsys.readouterr().out
    assert all(word in said for word in ("red", "</script>", ":smile:"))


@pytest.mark.parametrize("format", FORMATS)
def test_a_stream_that_has_only_ascii_gets_all_the_findings(format: str) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    render(at_line(1, "größe.step()  # …"), format, stream=stream)
    assert b"GL101" in raw.getvalue()
    assert stream.errors == "strict"


@given(
    source=st.text(max_size=60),
    path=st.text(max_size=12),
    name=st.text(max_size=8),
    line=st.integers(-1, 5),
    column=st.integers(0, 70),
    format=st.sampled_from(FORMATS),
)
def test_no_text_breaks_a_report(
    source: str, path: str, name: str, line: int, column: int, format: str
) -> None:
    verdict = at_line(line, source, path=path, column=column)._replace(subject=name)
    said = rendered(verdict, format)
    said.encode()
    if format in ("json", "sarif"):
        json.loads(said)
    if format == "github":
        assert said.count("\n") == 1
