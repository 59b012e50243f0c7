"""The audits of a run of pytest: opened with a test's setup, judged at the end of its call."""

from __future__ import annotations

import io
import sys
from collections.abc import Generator
from os.path import basename
from typing import TYPE_CHECKING, Any

import pytest

from gradledger.integrations.pytest_plugin import UNSEEN, FailOn
from gradledger.ledger.findings import Finding
from gradledger.ledger.unseen import Unseen
from gradledger.ledger.verdict import Verdict
from gradledger.report import render
from gradledger.report.balance import fails, faultless
from gradledger.rules import find
from gradledger.rules.ordering import ordered

if TYPE_CHECKING:
    from gradledger.runtime.audit import Audit

Wrapper = Generator[None, object, object]


class AuditedTest:
    """The audit of one test, as the fixture `gradledger_audit` hands it over."""

    def __init__(self, item: pytest.Item) -> None:
        self._subject = item.nodeid
        self._ignored = _Options(item).ignore
        self._expected: set[str] = set()
        self._open = True
        self._audit = _begun()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the test has done wrong so far, the worst first."""
        return tuple(ordered(f for f in self._audit.findings if f.rule not in self._ignored))

    @property
    def unseen(self) -> tuple[Unseen, ...]:
        """What the test has done so far that could not be seen."""
        return self._audit.unseen

    def expect(self, *rules: str) -> None:
        """The test breaks these rules, by code or name: it fails if, at its end, it has not."""
        self._expected |= {find(rule).code for rule in rules}

    def end(self, *raised: Any) -> None:
        """Stop watching, because of the exception if there is one. Once ended, it does nothing."""
        if self._open:
            self._open = False
            self._audit.__exit__(*(raised or (None, None, None)))

    @property
    def surprises(self) -> Verdict:
        """All that was found besides what was expected."""
        unexpected = tuple(f for f in self.findings if f.rule not in self._expected)
        return self._audit.verdict(self._subject)._replace(findings=unexpected)

    @property
    def missing(self) -> list[str]:
        """The rules that should have been broken, and were not."""
        return sorted(self._expected - {finding.rule for finding in self.findings})


class Auditor:
    """A plugin of pytest: audits the tests that ask for it, or all."""

    def __init__(self, fail_on: FailOn) -> None:
        self.audits_all = False
        self._fail_on = fail_on
        self._audits = pytest.StashKey[AuditedTest]()

    def open(self, item: pytest.Item) -> AuditedTest:
        """The audit of this test; begins it, unless it has begun."""
        if self._audits not in item.stash:
            item.stash[self._audits] = AuditedTest(item)
        return item.stash[self._audits]

    def close(self, item: pytest.Item, *raised: Any) -> None:
        """End the audit of this test, if there is one; the next time that it runs has its own."""
        if self._audits in item.stash:
            item.stash[self._audits].end(*raised)
            del item.stash[self._audits]

    # Innermost, all of them: what other plugins do around a test is not what the test does.

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Wrapper:
        """From here, because models and optimizers are often made by fixtures."""
        if not self.audits_all or _Options(item).off:
            return (yield)
        self.open(item)
        try:
            return (yield)
        except BaseException:
            self.close(item, *sys.exc_info())
            raise

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Wrapper:
        """A test that fails by itself keeps its failure; what was found stands next to it."""
        audited = item.stash.get(self._audits, None)
        if audited is None:
            return (yield)
        try:
            result = yield
        except BaseException:
            audited.end(*sys.exc_info())
            _add_section(item, audited.surprises)
            raise
        audited.end()
        self._judge(item, audited)
        return result

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Wrapper:
        """Ends what is still open: with `--setup-only`, no test is called."""
        self.close(item)
        return (yield)

    def _judge(self, item: pytest.Item, audited: AuditedTest) -> None:
        __tracebackhide__ = True
        verdict = audited.surprises
        if fails(verdict, self._fail_on):
            pytest.fail(f"{_in_short(verdict)}\n\n{_text(verdict)}", pytrace=False)
        _add_section(item, verdict)
        if audited.missing:
            names = " and ".join(f"{code} ({find(code).name})" for code in audited.missing)
            pytest.fail(
                f"the test was expected to break {names}, and did not. Take it out of "
                "`gradledger_audit.expect`, or make the test do it.",
                pytrace=False,
            )


class _Options:
    """What the test's marks say, the nearest and those of its class and module together."""

    def __init__(self, item: pytest.Item) -> None:
        self.ignore: set[str] = set()
        self.off = False
        for mark in item.iter_markers("gradledger"):
            unknown = mark.kwargs.keys() - {"ignore", "off"}
            if mark.args or unknown or not mark.kwargs:
                raise pytest.UsageError(
                    f"{item.nodeid}: the marker gradledger takes `ignore=[…]`, a list of rules, or "
                    "`off=True`. To audit a test, use the fixture: "
                    '@pytest.mark.usefixtures("gradledger_audit").'
                )
            ignore = mark.kwargs.get("ignore", ())
            self.ignore |= {find(r).code for r in ([ignore] if isinstance(ignore, str) else ignore)}
            self.off = self.off or bool(mark.kwargs.get("off", False))


def _begun() -> Audit:
    from gradledger.runtime.audit import audit  # loads torch, so not before a test is audited

    return audit().__enter__()


def _in_short(verdict: Verdict) -> str:
    """Why a test fails, the rule first: of a long line, pytest's summary shows the beginning."""
    if faultless(verdict):
        return f"not seen: {'; '.join(entry.phrase for entry in verdict.unseen)}"
    worst, *others = verdict.findings
    more = f", and {len(others)} more" if others else ""
    where = f"{basename(worst.at.path)}:{worst.at.line}"
    return f"{worst.rule} {find(worst.rule).name} at {where}{more}: the books do not balance"


def _add_section(item: pytest.Item, verdict: Verdict) -> None:
    if verdict.findings:
        item.add_report_section("call", "gradledger", _text(verdict))
    if verdict.unseen:
        said = "; ".join(entry.phrase for entry in verdict.unseen)
        item.add_report_section("call", UNSEEN, said)


def _text(verdict: Verdict) -> str:
    text = io.StringIO()
    render(verdict, "text", stream=text)
    return text.getvalue().rstrip()
