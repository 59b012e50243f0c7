"""What pytest loads by itself: options, a marker and a fixture.

It is in every run of everybody who has gradledger installed, so it imports nothing and hooks into
nothing until a test or the command line asks for an audit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from gradledger.integrations.pytest_auditor import AuditedTest, Auditor

FailOn = Literal["error", "warning", "unseen"]
FAIL_ON: tuple[FailOn, ...] = ("error", "warning", "unseen")
UNSEEN = "gradledger, not seen"
"""The section of a test's report that says what its audit could not see."""

MARKER = (
    "gradledger(ignore=[…], off=False): what an audit of this test leaves out: rules by code or "
    "name, or, with off=True, `--gradledger` altogether."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--gradledger`, and the same in the configuration file."""
    group = parser.getgroup("gradledger", "gradledger: audits of PyTorch gradients")
    group.addoption(
        "--gradledger",
        action="store_true",
        help="audit every test, and fail those that break a law",
    )
    group.addoption(
        "--gradledger-fail-on",
        choices=FAIL_ON,
        help="what fails an audited test: errors (the default); warnings, too; unseen: these, and "
        "whatever the audit could not see",
    )
    parser.addini("gradledger", "audit every test, as --gradledger does", "bool", False)
    parser.addini(
        "gradledger_fail_on", "as --gradledger-fail-on: error, warning or unseen", default="error"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Starts nothing unless every test is to be audited."""
    config.addinivalue_line("markers", MARKER)
    if config.getoption("gradledger") or config.getini("gradledger"):
        from gradledger.errors import MissingTorchError
        from gradledger.torch_extra import require_torch

        try:
            require_torch("pytest --gradledger")
        except MissingTorchError as error:
            raise pytest.UsageError(str(error)) from error
        _auditor(config).audits_all = True


def pytest_report_header(config: pytest.Config) -> str | None:
    """Says that it is at work."""
    if config.pluginmanager.get_plugin("gradledger-auditor") is None:
        return None
    return f"gradledger: every test is audited, and fails on: {_fail_on(config)}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says what was not seen, in tests that passed, too. Reports of other processes come here."""
    told: dict[str, int] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") != "call":  # that of the teardown has them again
                continue
            for title, text in report.sections:
                if UNSEEN in title:
                    told[text] = told.get(text, 0) + 1
    if told:
        terminalreporter.section("gradledger: not seen", sep="-")
        for text, tests in told.items():
            terminalreporter.line(f"{tests} {'test' if tests == 1 else 'tests'}: {text}")


@pytest.fixture
def gradledger_audit(request: pytest.FixtureRequest) -> Iterator[AuditedTest]:
    """Audits the test from here on, and fails it if it breaks a law.

    `.findings` are those so far. `.expect("GL101")` says that the test breaks this rule on purpose:
    then it fails if it does not. See also `--gradledger-fail-on`.
    """
    from gradledger.torch_extra import require_torch

    require_torch("the fixture gradledger_audit")
    auditor = _auditor(request.config)
    yield auditor.open(request.node)
    auditor.close(request.node)


def _auditor(config: pytest.Config) -> Auditor:
    """The one of this run, which is made, and hooked in, when it is first needed."""
    known: Auditor | None = config.pluginmanager.get_plugin("gradledger-auditor")
    if known is None:
        from gradledger.integrations.pytest_auditor import Auditor

        known = Auditor(_fail_on(config))
        config.pluginmanager.register(known, "gradledger-auditor")
    return known


def _fail_on(config: pytest.Config) -> FailOn:
    wanted = config.getoption("gradledger_fail_on") or config.getini("gradledger_fail_on")
    for known in FAIL_ON:
        if wanted == known:
            return known
    raise pytest.UsageError(f"gradledger_fail_on must be error, warning or unseen, got {wanted!r}.")
