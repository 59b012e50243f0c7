from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from gradledger.ledger import Evidence, Finding, Place
from gradledger.static.result import Checked, Unknown
from gradledger.static.runner.notebook_places import as_seen, trouble_as_seen
from gradledger.static.runner.runner import check_bytes
from gradledger.static.source.cell_places import cell_path, file_and_cell, texts
from gradledger.static.source.files import Source, Trouble, from_bytes, parse


def code(text: str, **more: object) -> dict[str, Any]:
    return {"cell_type": "code", "source": text.splitlines(keepends=True), **more}


MARKDOWN = {"cell_type": "markdown", "source": ["# A title\n", "and words"]}


def notebook(*cells: dict[str, Any], **more: object) -> bytes:
    return json.dumps({"cells": cells, "nbformat": 4, "metadata": {}, **more}).encode()


def source_of(data: bytes) -> Source:
    source = from_bytes("nb.ipynb", data)
    assert isinstance(source, Source), source
    return source


def test_code_cells_are_joined_and_every_line_is_found_again() -> None:
    source = source_of(notebook(code("a = 1\nb = 2"), MARKDOWN, code(""), code("c = 3\n\nd = 4")))
    lines = source.text.split("\n")
    assert lines.count("c = 3") == 1
    at = {line: source.locate(n) for n, line in enumerate(lines, 1) if line}
    assert at == {"a = 1": (1, 1), "b = 2": (1, 2), "c = 3": (4, 1), "d = 4": (4, 3)}


def test_a_plain_file_has_no_cells() -> None:
    assert Source("a.py", "x\n").locate(7) == (0, 7)


def test_a_source_may_be_one_text_and_end_its_lines_as_it_likes() -> None:
    cell = {"cell_type": "code", "source": "a = 1\r\nb = 2\rc = 3"}
    assert source_of(notebook(cell)).text == "a = 1\nb = 2\nc = 3\n"


def test_the_older_format_is_read() -> None:
    cells = [MARKDOWN, {"cell_type": "code", "input": ["a = 1\n", "b"], "language": "python"}]
    old = {"nbformat": 3, "worksheets": [{"cells": cells}, {"cells": cells}], "metadata": {}}
    source = source_of(json.dumps(old).encode())
    assert source.text == "a = 1\nb\na = 1\nb\n"
    assert [cell.number for cell in source.cells] == [2, 4]


@pytest.mark.parametrize("mark", ["utf-8", "utf-8-sig", "utf-16"])
def test_its_json_may_be_in_any_unicode(mark: str) -> None:
    data = notebook(code("x = 'é'")).decode().encode(mark)
    assert source_of(data).text == "x = 'é'\n"


def test_other_languages_are_left_alone() -> None:
    julia = notebook(code("x = 1"), metadata={"kernelspec": {"language": "julia"}})
    assert source_of(julia).cells == ()
    cells = [
        code("select 1", metadata={"vscode": {"languageId": "sql"}}),
        code("x <- 1", language="R"),
        code("y = 1"),
    ]
    assert source_of(notebook(*cells)).text == "y = 1\n"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"[]", "no cells"),
        (b'"x"', "no cells"),
        (b"{}", "no cells"),
        (b'{"cells": "\xff"}', "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_notebook_is_told_in_a_line(data: bytes, words: str) -> None:
    found = from_bytes("nb.ipynb", data)
    assert isinstance(found, Trouble)
    assert words in found.message


@pytest.mark.parametrize(
    "strange",
    [
        {"cells": None},
        {"cells": [None, 3, {}, {"cell_type": "code"}, {"cell_type": "code", "source": 3}]},
        {"cells": [{"cell_type": "code", "source": [1, None]}]},
        {"worksheets": [None, {"cells": 3}]},
        {"cells": [], "metadata": {"kernelspec": 3, "language_info": []}},
        {"cells": [code("x", metadata=3)], "metadata": []},
        {"cells": [code("x", language=["python"])]},
    ],
)
def test_odd_shapes_are_no_reason_to_fail(strange: dict[str, Any]) -> None:
    assert isinstance(parse(source_of(json.dumps(strange).encode())), ast.Module)


def test_places_are_those_that_people_see() -> None:
    source = source_of(notebook(MARKDOWN, code("a\nb"), code("c\nd")))
    other = Place("lib.py", 3, via=Place("nb.ipynb", 2))
    finding = Finding(
        "GL101",
        Place("nb.ipynb", 4, 5),
        "words",
        "certain",
        (Evidence("deposited", other), Evidence("cleared", None, "never")),
    )
    seen = as_seen(Checked((finding,), (Unknown("nb.ipynb", 3, "f", "why"),), 2), source)
    assert seen.findings[0].at == Place("nb.ipynb:cell 3", 2, 5)
    assert seen.findings[0].evidence[0].at == Place("lib.py", 3, via=Place("nb.ipynb:cell 2", 2))
    assert seen.unknown == (Unknown("nb.ipynb:cell 3", 1, "f", "why"),)
    assert seen.followed == 2
    assert texts(source) == {"nb.ipynb:cell 2": "a\nb\n", "nb.ipynb:cell 3": "c\nd\n"}
    assert trouble_as_seen(Trouble("nb.ipynb", 0, "x"), source) == Trouble("nb.ipynb", 0, "x")


def test_the_places_of_a_plain_file_stay_as_they_are() -> None:
    source = Source("a.py", "x\n")
    checked = Checked(unknown=(Unknown("a.py", 1, "f", "why"),))
    assert as_seen(checked, source) is checked
    assert texts(source) == {"a.py": "x\n"}


def test_a_shown_path_leads_back_to_the_file() -> None:
    assert file_and_cell(cell_path("a/nb.ipynb", 12)) == ("a/nb.ipynb", 12)
    assert file_and_cell("a/b.py") == ("a/b.py", 0)
    assert file_and_cell("odd:cell 3") == ("odd:cell 3", 0)


def test_a_broken_cell_is_told_and_the_others_are_checked() -> None:
    data = notebook(code("import torch"), code("x = 1\nprint 'old'"), MARKDOWN, code("y = ("))
    result = check_bytes("nb.ipynb", data)
    assert [trouble[:2] for trouble in result.troubles] == [
        ("nb.ipynb:cell 2", 2),
        ("nb.ipynb:cell 4", 1),
    ]
    assert "Python 2" in result.troubles[0].message


def test_the_path_to_a_finding_is_told_in_cells() -> None:
    setting_up = "import torch\nmodel = torch.nn.Linear(2, 1)\n"
    optimizer = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    loop = "for x in data:\n    model(x).sum().backward()\n    optimizer.step()\n"
    result = check_bytes("nb.ipynb", notebook(code(setting_up + optimizer), MARKDOWN, code(loop)))
    (finding,) = result.checked.findings
    told = [(step.what, str(step.at)) for step in finding.witness]
    places = ("deposited", "nb.ipynb:cell 3:2"), ("spent", "nb.ipynb:cell 3:3")
    assert told == [*places, *places]
