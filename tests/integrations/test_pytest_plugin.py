"""The plugin fails what breaks a law, and is nowhere when it is not asked."""

from __future__ import annotations

from importlib.metadata import distributions

import pytest
import torch

from gradledger import torch_extra

pytest_plugins = ["pytester"]

PLUGIN = "gradledger.integrations.pytest_plugin"
TRAINING = """
import pytest
import torch


def train(*, clear=True, steps=3):
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        if clear:
            optimizer.zero_grad()
        model(torch.ones(2, 3)).mean().backward()
        optimizer.step()


def step_on_nothing():  # GL202, a warning
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    optimizer.step()
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(pytester, monkeypatch)


class Run:
    """Runs pytest in this process on tests that can train."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        # Whether the installed package has its entry point must not matter to all but one test.
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
        monkeypatch.setenv("COLUMNS", "160")
        self._pytester = pytester

    def __call__(self, tests: str, *args: str, ini: str = "") -> pytest.RunResult:
        self._pytester.makepyfile(test_it=TRAINING + tests)
        if ini:
            self._pytester.makeini(f"[pytest]\n{ini}\n")
        return self._pytester.runpytest_inprocess(
            "-p", PLUGIN, "--strict-markers", "-W", "error", *args
        )


# The option ---------------------------------------------------------------------------------------

TWO = """
def test_that_keeps_the_books():
    train()


def test_that_forgets_to_clear():
    train(clear=False)
"""


@pytest.mark.parametrize(
    ("args", "ini"), [(["--gradledger"], ""), ([], "gradledger = true")], ids=["option", "ini"]
)
def test_every_test_is_audited_and_the_one_that_breaks_a_law_fails(
    run: Run, args: list[str], ini: str
) -> None:
    done = run(TWO, *args, ini=ini)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        [
            "gradledger: every test is audited, and fails on: error",
            "GL101 spent-gradient-reused at test_it.py:*: the books do not balance",
            "test_it.py:*: GL101 spent-gradient-reused: *",
            "*optimizer.step()*",
            "* = fix: *",
            "FAILED test_it.py::test_that_forgets_to_clear - Failed: GL101 spent-gradient-reused *",
        ]
    )


def test_nothing_is_audited_unless_it_is_asked_for(run: Run) -> None:
    done = run(TWO)
    done.assert_outcomes(passed=2)
    done.stdout.no_fnmatch_line("*gradledger:*")


def test_the_configuration_can_be_overruled(run: Run) -> None:
    run(TWO, "-o", "gradledger=false", ini="gradledger = true").assert_outcomes(passed=2)


def test_models_made_by_fixtures_are_audited_too(run: Run) -> None:
    done = run(
        """
@pytest.fixture
def trained():
    train(clear=False)

def test_it(trained):
    pass
""",
        "--gradledger",
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*GL101*"])


@pytest.mark.parametrize(
    ("args", "ini"),
    [
        (["--gradledger-fail-on", "warning"], ""),
        (["--gradledger-fail-on=warning"], "gradledger_fail_on = error"),
        ([], "gradledger_fail_on = warning"),
    ],
)
def test_warnings_fail_where_that_is_wanted(run: Run, args: list[str], ini: str) -> None:
    done = run("def test_it():\n    step_on_nothing()\n", "--gradledger", *args, ini=ini)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*GL202*"])


def test_warnings_alone_stand_in_a_section_of_a_test_that_passes(run: Run) -> None:
    done = run("def test_it():\n    step_on_nothing()\n", "--gradledger", "-rP")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["*Captured gradledger call*", "*GL202*"])


UNSEEN = """
from gradledger.runtime.journal.journal import journals


def overlook():
    train()
    for journal in journals:
        if not journal.closed:
            journal.not_seen("weights", "the loss is compiled", count=3)


def test_one():
    overlook()


def test_two():
    overlook()


def test_three():
    train()
"""


def test_what_was_not_seen_is_in_the_summary_and_fails_nothing(run: Run) -> None:
    done = run(UNSEEN, "--gradledger", "--gradledger-fail-on=warning")
    done.assert_outcomes(passed=3)
    done.stdout.fnmatch_lines(
        [
            "*- gradledger: not seen -*",
            "2 tests: the weights of 3 windows (the loss is compiled)",
        ]
    )


def test_what_was_not_seen_fails_where_that_is_wanted(run: Run) -> None:
    done = run(UNSEEN, "--gradledger", ini="gradledger_fail_on = unseen")
    done.assert_outcomes(passed=1, failed=2)
    done.stdout.fnmatch_lines(
        [
            "not seen: the weights of 3 windows (the loss is compiled)",
            "No fault found in what was seen: 6 deposits, 6 spent.",
            "FAILED test_it.py::test_one - Failed: not seen: the weights of 3 windows*",
        ]
    )


def test_a_run_that_saw_all_says_nothing_of_it(run: Run) -> None:
    done = run(TWO, "--gradledger", "--gradledger-fail-on=unseen")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.no_fnmatch_line("*not seen*")


def test_a_test_can_ask_what_was_not_seen(run: Run) -> None:
    done = run(
        UNSEEN
        + """
def test_asking(gradledger_audit):
    assert gradledger_audit.unseen == ()
    overlook()
    assert [one.count for one in gradledger_audit.unseen] == [3]
"""
    )
    done.assert_outcomes(passed=4)
    done.stdout.fnmatch_lines(["1 test: the weights of 3 windows (the loss is compiled)"])


def test_a_severity_that_is_none_is_refused(run: Run) -> None:
    done = run(TWO, "--gradledger", ini="gradledger_fail_on = info")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*gradledger_fail_on must be error, warning or unseen, got 'info'*"])


def test_a_test_that_fails_by_itself_keeps_its_failure_and_gets_the_findings(run: Run) -> None:
    done = run("def test_it():\n    train(clear=False)\n    assert 1 == 2\n", "--gradledger")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E*assert 1 == 2", "*Captured gradledger call*", "*GL101*"])


def test_skipped_and_expected_failures_stay_what_they_are(run: Run) -> None:
    tests = """
def test_skipped_in_the_middle():
    train(clear=False)
    pytest.skip("no data")


@pytest.mark.xfail(strict=True)
def test_expected_to_break_a_law():
    train(clear=False)


@pytest.mark.skip
def test_skipped():
    train(clear=False)
"""
    run(tests, "--gradledger").assert_outcomes(skipped=2, xfailed=1)


def test_what_a_test_leaves_behind_is_not_the_next_ones_fault(run: Run) -> None:
    tests = """
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def test_that_steps():
    model(torch.ones(2, 3)).mean().backward()
    optimizer.step()

def test_that_clears_and_steps():
    optimizer.zero_grad()
    model(torch.ones(2, 3)).mean().backward()
    optimizer.step()
"""
    run(tests, "--gradledger").assert_outcomes(passed=2)


def test_an_audit_ends_where_a_fixture_fails_or_no_test_is_called(run: Run) -> None:
    tests = """
from torch.autograd import backward

@pytest.fixture
def broken():
    raise RuntimeError("no data")

def test_it(broken):
    train(clear=False)
"""
    before = _torch_as_it_is()
    run(tests, "--gradledger").assert_outcomes(errors=1)
    run(TWO, "--gradledger", "--setup-only")
    run(TWO, "--gradledger")
    assert _torch_as_it_is() == before


def _torch_as_it_is() -> list[object]:
    owners = (torch.Tensor, torch.autograd, torch.optim.Optimizer, torch.optim.SGD, torch.nn.Module)
    return [{name: id(value) for name, value in vars(owner).items()} for owner in owners]


# The marker ---------------------------------------------------------------------------------------


def test_the_marker_leaves_rules_or_tests_out(run: Run) -> None:
    done = run(
        """
@pytest.mark.gradledger(ignore=["GL101"])
def test_by_code():
    train(clear=False)

@pytest.mark.gradledger(ignore="spent-gradient-reused")
def test_by_name():
    train(clear=False)

@pytest.mark.gradledger(ignore=["GL202"])
def test_of_another_rule():
    train(clear=False)

@pytest.mark.gradledger(off=True)
def test_without():
    train(clear=False)

@pytest.mark.gradledger(off=True)
class TestAll:
    def test_without(self):
        train(clear=False)
""",
        "--gradledger",
    )
    done.assert_outcomes(passed=4, failed=1)
    done.stdout.fnmatch_lines(["FAILED test_it.py::test_of_another_rule*"])


@pytest.mark.parametrize(
    ("mark", "says"),
    [
        ('ignore=["GL999"]', "no rule is called 'GL999'"),
        ("", "the marker gradledger takes `ignore="),
        ("only=3", "the marker gradledger takes `ignore="),
    ],
)
def test_a_marker_that_says_nothing_is_an_error(run: Run, mark: str, says: str) -> None:
    done = run(f"@pytest.mark.gradledger({mark})\ndef test_it():\n    train()\n", "--gradledger")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines([f"*{says.replace('[', '[[]')}*"])


# The fixture --------------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [[], ["--gradledger"]], ids=["alone", "with --gradledger"])
def test_the_fixture_fails_a_test_that_breaks_a_law(run: Run, args: list[str]) -> None:
    tests = """
def test_that_keeps_the_books(gradledger_audit):
    train()
    assert gradledger_audit.findings == ()


def test_that_forgets_to_clear(gradledger_audit):
    train(clear=False)
    assert [finding.rule for finding in gradledger_audit.findings] == ["GL101"]


@pytest.mark.usefixtures("gradledger_audit")
def test_by_mark():
    train(clear=False)
"""
    done = run(tests, *args)
    done.assert_outcomes(passed=1, failed=2)
    done.stdout.fnmatch_lines(["FAILED test_it.py::test_that_forgets_to_clear*Failed: GL101*"])


def test_a_test_without_the_fixture_is_not_audited_after_one_with_it(run: Run) -> None:
    tests = """
def test_with(gradledger_audit):
    train()

def test_without():
    train(clear=False)
"""
    run(tests).assert_outcomes(passed=2)


def test_what_was_expected_does_not_fail_and_what_was_not_does(run: Run) -> None:
    tests = """
def test_expected(gradledger_audit):
    gradledger_audit.expect("GL101")
    train(clear=False)

def test_expected_by_name(gradledger_audit):
    train(clear=False)
    gradledger_audit.expect("spent-gradient-reused")

def test_that_does_not_do_it(gradledger_audit):
    gradledger_audit.expect("GL101")
    train()

def test_that_does_something_else(gradledger_audit):
    gradledger_audit.expect("GL202")
    step_on_nothing()
    train(clear=False)

def test_of_no_rule(gradledger_audit):
    gradledger_audit.expect("GL999")
"""
    done = run(tests)
    done.assert_outcomes(passed=2, failed=3)
    done.stdout.fnmatch_lines(
        [
            "*the test was expected to break GL101 (spent-gradient-reused), and did not.*",
            "FAILED *::test_that_does_something_else - Failed: GL101*",
            "FAILED *::test_of_no_rule - gradledger.errors.UnknownRuleError*",
        ]
    )


def test_the_fixture_sees_no_more_after_a_later_fixture_failed(run: Run) -> None:
    tests = """
@pytest.fixture
def broken(gradledger_audit):
    train(clear=False)
    raise RuntimeError("no data")

def test_it(broken):
    pass
"""
    before = _torch_as_it_is()
    run(tests).assert_outcomes(errors=1)
    assert _torch_as_it_is() == before


def test_a_comparison_with_the_big_batch_is_not_part_of_the_books(run: Run) -> None:
    tests = """
from gradledger import assert_window_equals_batch

def test_it(gradledger_audit):
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model(torch.ones(2, 3)).mean().backward()
    batches = torch.randn(4, 3).chunk(2)
    assert_window_equals_batch(model, lambda model, x: model(x).mean(), batches)
    optimizer.step()
    optimizer.zero_grad()
    assert gradledger_audit.findings == ()
    model(torch.ones(2, 3)).mean().backward()
    optimizer.step()
    model(torch.ones(2, 3)).mean().backward()
    optimizer.step()
    assert [finding.rule for finding in gradledger_audit.findings] == ["GL101"]
    gradledger_audit.expect("GL101")
"""
    run(tests, "--gradledger-fail-on=warning").assert_outcomes(passed=1)


# Processes ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_tests_are_audited_in_the_workers_of_xdist(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makepyfile(test_it=TRAINING + TWO)
    done = pytester.runpytest_subprocess("-p", PLUGIN, "-p", "xdist", "-n", "1", "--gradledger")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*GL101 spent-gradient-reused at test_it.py:*", "* = fix: *"])


LOADED = """
import sys

def test_it():
    print(*(name for name in sys.modules if name.split(".")[0] in ("gradledger", "torch")))
"""


def test_unused_it_loads_neither_torch_nor_the_rest_of_gradledger(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(test_it=LOADED)
    done = pytester.runpytest_subprocess("-q", "-s", "-p", PLUGIN)
    done.assert_outcomes(passed=1)
    line = next(line for line in done.outlines if "gradledger" in line)
    assert set(line.strip(".").split()) == {
        *("gradledger", "gradledger.errors", "gradledger.integrations", PLUGIN)
    }


def test_without_torch_the_option_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_extra, "torch_is_installed", lambda: False)
    done = run(TWO, "--gradledger")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*pytest --gradledger needs PyTorch*pip install*"])


def test_pytest_finds_it_by_itself() -> None:
    found = {
        entry.value
        for distribution in distributions()
        for entry in distribution.entry_points
        if (entry.group, entry.name) == ("pytest11", "gradledger")
    }
    assert found == {PLUGIN}
