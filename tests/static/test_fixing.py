"""Cures: every example that has one is cured by it, and every other byte is kept."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradledger.rules import CATALOGUE, find, programs
from gradledger.static.fix import Fixed, fixes
from gradledger.static.fix.cures import CURES
from gradledger.static.fix.importers import Importers
from gradledger.static.runner.runner import check_bytes
from tests.examples import examples

WITH_EXAMPLE = sorted(CURES.keys() - {"GL503"})  # its example wants another block for the call
LINES = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def fix(data: bytes, path: str = "train.py") -> Fixed | None:
    findings = check_bytes(path, data).checked.findings
    return next(fixes(findings, [path], at_hand={path: data}), None)


def fixed(text: str) -> str:
    done = fix(text.encode())
    assert done is not None, "nothing was fixed"
    return done.after.decode()


def shown(data: bytes, path: str = "train.py") -> list[str]:
    return [
        finding.rule
        for finding in check_bytes(path, data).checked.findings
        if finding.certainty != "possible"
    ]


def example(rule: str) -> bytes:
    return "\n".join([*programs.bad(find(rule)).lines, ""]).encode()


@pytest.mark.parametrize("rule", WITH_EXAMPLE)
def test_the_example_of_a_rule_is_cured(rule: str) -> None:
    data = example(rule)
    done = fix(data)
    assert done is not None
    assert [finding.rule for finding in done.cured] == [rule]
    assert shown(done.after) == []
    # All lines but one or two are what they were.
    before, after = (LINES.findall(text) for text in (data, done.after))
    assert len([line for line in before if line not in after]) <= 1
    assert len([line for line in after if line not in before]) <= 1
    assert abs(len(before) - len(after)) <= 1


@pytest.mark.parametrize("rule", [rule.code for rule in CATALOGUE])
def test_what_is_right_is_left_alone(rule: str) -> None:
    assert fix("\n".join(programs.good(find(rule)).lines).encode()) is None


MARK = b"#~"
NOISE = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True),
        st.sampled_from([MARK, b"   " + MARK + b" \xc3\xa9 \xe2\x88\x9e", b"\t" + MARK]),
        st.sampled_from([b"\n", b"\r\n"]),
    ),
    max_size=12,
)


@examples(12)
@given(
    rule=st.sampled_from(WITH_EXAMPLE),
    noise=NOISE,
    ends=st.lists(st.sampled_from([b"\n", b"\r\n"]), min_size=1, max_size=5),
    bom=st.booleans(),
    open_end=st.booleans(),
)
def test_comments_and_line_ends_around_are_kept(
    rule: str,
    noise: list[tuple[float, bytes, bytes]],
    ends: list[bytes],
    bom: bool,
    open_end: bool,
) -> None:
    lines = [line.rstrip(b"\n") for line in LINES.findall(example(rule))]
    text = [line + ends[n % len(ends)] for n, line in enumerate(lines)]
    for place, comment, end in noise:
        text.insert(int(place * len(text)), comment + end)
    if open_end:
        text[-1] = text[-1].rstrip(b"\r\n")
    data = (b"\xef\xbb\xbf" if bom else b"") + b"".join(text)
    done, plain = fix(data), fix(example(rule))
    assert done is not None
    assert plain is not None
    got = LINES.findall(done.after.removeprefix(b"\xef\xbb\xbf"))
    # The same as without them ...
    code = [line.rstrip(b"\r\n") for line in got if not line.lstrip().startswith(MARK)]
    assert code == [line.rstrip(b"\n") for line in LINES.findall(plain.after)]
    # ... and each line that is still there has its own end.
    assert done.after.startswith(b"\xef\xbb\xbf") == bom
    changed = [line for line in got if line not in text]
    assert len(changed) <= 2
    assert done.after.endswith((b"\r", b"\n")) != open_end


START = """\
import torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler()
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for i, x in enumerate(loader):
"""


def program(body: str) -> str:
    return START + "".join(f"    {line}\n" for line in body.split("\n"))


CURED = {
    "a clear before the first backward": (
        "loss = model(x).sum()\nloss.backward()\noptimizer.step()",
        "loss = model(x).sum()\noptimizer.zero_grad()\nloss.backward()\noptimizer.step()",
    ),
    "several statements before the step": (
        "loss = model(x).sum()\nloss.backward()\nif x:\n    print(x)\noptimizer.step()",
        "loss = model(x).sum()\noptimizer.zero_grad()\nloss.backward()\nif x:\n    print(x)\n"
        "optimizer.step()",
    ),
    "in a with and a try": (
        "with torch.enable_grad():\n    model(x).sum().backward()\n    optimizer.step()",
        "with torch.enable_grad():\n    optimizer.zero_grad()\n    model(x).sum().backward()\n"
        "    optimizer.step()",
    ),
    "a call over several lines": (
        "model(\n    x\n).sum(\n).backward()\noptimizer.step()",
        "optimizer.zero_grad()\nmodel(\n    x\n).sum(\n).backward()\noptimizer.step()",
    ),
    "a clear between backward and step": (
        "model(x).sum().backward()\noptimizer.zero_grad()  # fresh\noptimizer.step()",
        "optimizer.zero_grad()  # fresh\nmodel(x).sum().backward()\noptimizer.step()",
    ),
    "two findings": (
        "model(x).sum().backward()\noptimizer.zero_grad()\nscheduler.step()\noptimizer.step()",
        "optimizer.zero_grad()\nmodel(x).sum().backward()\noptimizer.step()\nscheduler.step()",
    ),
    "a clip that has to be unscaled where it comes to stand": (
        "optimizer.zero_grad()\nscaler.scale(model(x).sum()).backward()\nscaler.step(optimizer)\n"
        "scaler.update()\ntorch.nn.utils.clip_grad_norm_(\n    model.parameters(), 1.0\n)",
        "optimizer.zero_grad()\nscaler.scale(model(x).sum()).backward()\n"
        "scaler.unscale_(optimizer)\n"
        "torch.nn.utils.clip_grad_norm_(\n    model.parameters(), 1.0\n)\n"
        "scaler.step(optimizer)\nscaler.update()",
    ),
    "a clip with a condition": (
        "optimizer.zero_grad()\nscaler.scale(model(x).sum()).backward()\nif clip:\n"
        "    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)\n"
        "scaler.step(optimizer)\nscaler.update()",
        "optimizer.zero_grad()\nscaler.scale(model(x).sum()).backward()\nif clip:\n"
        "    scaler.unscale_(optimizer)\n"
        "    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)\n"
        "scaler.step(optimizer)\nscaler.update()",
    ),
    "a step with a condition of its own": (
        "loss = model(x).mean() / 4\nloss.backward()\nif (i + 1) % 4 == 0:\n    optimizer.step()",
        "loss = model(x).mean() / 4\nloss.backward()\nif (i + 1) % 4 == 0:\n    optimizer.step()\n"
        "    optimizer.zero_grad()",
    ),
}


@pytest.mark.parametrize("name", CURED)
def test_the_cure_is_what_a_person_would_write(name: str) -> None:
    before, after = map(program, CURED[name])
    assert fixed(before) == after


LEFT = {
    "two statements on a line": "model(x).sum().backward(); optimizer.step()",
    "a body on the line of its if": "if x: model(x).sum().backward()\noptimizer.step(); x",
    "a line that goes on": "print(x); \\\n    model(x).sum().backward(); \\\n    optimizer.step()",
    "a name that is another one there": (
        "model(x).sum().backward()\noptimizer = optimizers[x]\noptimizer.step()"
    ),
    "gradients that are looked at": (
        "model(x).sum().backward()\noptimizer.step()\nprint(model.weight.grad)"
    ),
    "a step that is deliberate": (
        "optimizer.zero_grad()\nscaler.scale(model(x).sum()).backward()\noptimizer.step()"
    ),
    "a clip of what comes later": (
        "optimizer.zero_grad()\nmodel(x).sum().backward()\noptimizer.step()\nmost = norm(x)\n"
        "torch.nn.utils.clip_grad_norm_(model.parameters(), most)"
    ),
    "what may be no tensor": (
        "out = model(x)\noptimizer.zero_grad()\nout.sum().backward()\noptimizer.step()\n"
        "kept.append(out)\nprint(out.item())"
    ),
    "a graph that a model may need": (
        "optimizer.zero_grad()\nmodel(x).sum().backward(retain_graph=True)\noptimizer.step()"
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_plain_is_left_alone(name: str) -> None:
    assert fix(program(LEFT[name]).encode()) is None


def test_another_encoding_and_a_form_feed_are_kept() -> None:
    text = "# -*- coding: latin-1 -*-\n# caf\u00e9\n\f\n" + program(
        "loss = model(x).sum()  # \u00e9\t \nloss.backward()\noptimizer.step()"
    )
    done = fix(text.encode("latin-1"))
    assert done is not None
    added = b"    optimizer.zero_grad()\n"
    assert done.after.count(added) == 1
    assert done.after.replace(added, b"") == text.encode("latin-1")


def test_a_fault_that_shows_only_from_another_file_is_cured_where_it_is(
    tmp_path: Path,
) -> None:
    helper = tmp_path / "helper.py"
    helper.write_text(
        "import torch\ndef update(scaler, optimizer):\n    scaler.step(optimizer)\n",
        encoding="utf-8",
    )
    train = tmp_path / "train.py"
    body = "optimizer.zero_grad()\nscaler.scale(model(x).sum()).backward()\n"
    call = "update(scaler, optimizer)"
    train.write_text("from helper import update\n" + program(body + call), encoding="utf-8")
    files = [str(train), str(helper)]

    def run() -> list[Fixed]:
        result = check_bytes(files[0], train.read_bytes(), roots=(str(tmp_path),))
        return list(fixes(result.checked.findings, files, roots=(str(tmp_path),)))

    (done,) = run()
    assert done.path == str(helper)
    assert done.after.endswith(b"    scaler.step(optimizer)\n    scaler.update()\n")
    del files[1]  # what is not among the files is never touched
    assert run() == []


@pytest.mark.parametrize(
    "line", [b"from " + b"." * 60_000, b"from" + b" " * 200_000, b"import" + b"\t" * 200_000]
)
def test_no_line_of_an_import_takes_for_ever(line: bytes) -> None:
    texts = {"a.py": b"", "b.py": line + b"\nfrom . import a\n"}
    assert Importers(texts, texts.__getitem__).of("a.py") == ["b.py"]


def test_importers_are_found_through_others_and_through_notebooks() -> None:
    texts = {
        "p/a.py": b"x = 1\n",
        "p/__init__.py": b"from .a import x\n",
        "use.py": b"import os\nimport p as q, sys\n",
        "deep/er/use.py": b"from p import (\n    b,\n    a,\n)\n",
        "nb.ipynb": b'{"cells": [{"source": ["from p.a import x\\n"]}]}',
        "third.py": b"def f():\n    from use import q\n",
        "no.py": b"# from p import a\nfrom pp import aa\nprint('a')\n",
        "other/p/a.py": b"import json\n",
    }
    found = Importers(texts, texts.__getitem__)
    assert found.of("p/a.py") == [
        "p/__init__.py",
        "use.py",
        "deep/er/use.py",
        "nb.ipynb",
        "third.py",
    ]
    assert found.of("use.py") == ["third.py"]
    assert found.of("other/p/a.py") == []


def cell(*lines: str) -> dict[str, object]:
    source = [f"{line}\n" for line in lines[:-1]] + [lines[-1]]
    return {"cell_type": "code", "metadata": {}, "outputs": [], "source": source}


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# caf\u00e9"]},
        cell("%matplotlib inline", *START.splitlines()[:-1]),
        cell("for x in loader:", "    model(x).sum().backward()", "    optimizer.step()"),
        cell("for x in loader:", "    optimizer.zero_grad()",
             "    scaler.scale(model(x).sum()).backward()", "    scaler.step(optimizer)"),
    ],
    "metadata": {},
    "nbformat": 4,
}  # fmt: skip


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("as_text", [True, False])
def test_a_notebook_is_changed_in_its_cells_and_nowhere_else(
    indent: int | None, ascii_only: bool, as_text: bool
) -> None:
    book = json.loads(json.dumps(NOTEBOOK))
    if as_text:
        for one in book["cells"]:
            one["source"] = "".join(one["source"])

    def written() -> bytes:
        return json.dumps(book, indent=indent, ensure_ascii=ascii_only).encode() + b"\n"

    before = written()
    done = fix(before, "nb.ipynb")
    assert done is not None
    assert sorted(finding.rule for finding in done.cured) == ["GL101", "GL403"]
    clear, update = "    optimizer.zero_grad()\n", "    scaler.update()"
    if as_text:
        first, _, rest = book["cells"][2]["source"].partition("\n")
        book["cells"][2]["source"] = f"{first}\n{clear}{rest}"
        book["cells"][3]["source"] += "\n" + update
    else:
        book["cells"][2]["source"].insert(1, clear)
        book["cells"][3]["source"][-1] += "\n"
        book["cells"][3]["source"].append(update)
    assert done.after == written()
