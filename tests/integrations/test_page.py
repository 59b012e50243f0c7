"""docs/testing.md says what is so: its tests pass, its output is real, its tables are complete."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from gradledger import WindowNotEqual, assert_window_equals_batch
from gradledger.integrations import pytest_plugin
from gradledger.integrations.pytest_auditor import AuditedTest

pytest_plugins = ["pytester"]

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
EQUALITY, AUDITS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PLUGIN = "gradledger.integrations.pytest_plugin"


@pytest.mark.parametrize(("code", "passed"), [(EQUALITY, 1), (AUDITS, 2)])
def test_the_tests_on_the_page_pass(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, code: str, passed: int
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(code)
    done = pytester.runpytest_inprocess("-p", PLUGIN, "-W", "error")
    done.assert_outcomes(passed=passed)


def test_the_failure_on_the_page_is_what_happens() -> None:
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        exec(compile(EQUALITY, "testing.md", "exec"), names)
        batches = [(torch.randn(n, 16), torch.randint(4, (n,))) for n in (8, 2)]
        with pytest.raises(WindowNotEqual) as failed:
            assert_window_equals_batch(names["model"], names["loss_fn"], batches)
    assert shown == f"gradledger.errors.WindowNotEqual: {failed.value}\n"


def test_the_arguments_on_the_page_are_those_of_the_function() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| \S", PAGE, re.MULTILINE)
    parameters = inspect.signature(assert_window_equals_batch).parameters
    assert [name for name, _ in rows] == list(parameters)
    defaults = {name: eval(text.strip("`")) for name, text in rows[3:]}
    assert defaults == {name: parameters[name].default for name in defaults}


@pytest.mark.parametrize("name", ["findings", "expect"])
def test_what_a_test_can_do_with_its_audit_is_on_the_page(name: str) -> None:
    assert hasattr(AuditedTest, name)
    assert f"`gradledger_audit.{name}" in PAGE


def test_every_option_is_on_the_page() -> None:
    source = inspect.getsource(pytest_plugin)
    for name in re.findall(r'"(--gradledger[a-z-]*)"', source):
        assert f"| `{name}" in PAGE
    for name in re.findall(r'addini\(\s*"(\w+)"', source):
        assert f"`{name} = " in PAGE
