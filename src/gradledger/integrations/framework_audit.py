"""Shared by all adapters to training frameworks: the audit of one training, and its reports.

An adapter calls `begin` when the framework starts to train, `tell` after each batch and `end` when
it is done. Findings are told between batches, where the framework may raise and log.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gradledger.errors import GradledgerError, LawBroken, OptionError
from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.rules import Severity, find

if TYPE_CHECKING:
    from gradledger.ledger.verdict import Verdict
    from gradledger.runtime.audit import Audit
    from gradledger.runtime.outputs.measurements import Measured

OnFinding = Literal["warn", "raise"] | Callable[[Finding], object]
REPORT = "gradledger.html"
_NORM = "gradient norm"


class FindingWarning(UserWarning):
    """A law of the ledger was broken while a framework trained."""


class MissingFrameworkError(GradledgerError, ImportError):
    """The framework of an adapter is not installed, or is too old."""


class FrameworkAudit:
    """The audit of one training by a framework."""

    def __init__(
        self,
        *,
        on_finding: OnFinding = "warn",
        report: str | os.PathLike[str] | None = None,
        sample: int | None = None,
    ) -> None:
        if on_finding not in ("warn", "raise") and not callable(on_finding):
            raise OptionError(
                f"on_finding must be 'warn', 'raise' or a function, got {on_finding!r}"
            )
        self._on_finding = on_finding
        self._report = report
        self._sample = sample
        self._audit: Audit | None = None
        self._last: Audit | None = None
        self._told: set[tuple[str, Place]] = set()
        self._norms: dict[str, float] = {}
        self._folder = ""
        self._place: Callable[[], str | None] = lambda: None

    # The course of a training

    def begin(self, place: Callable[[], str | None] = lambda: None) -> None:
        """The framework starts to train. What an earlier training has left open is closed.

        `place` gives the folder that the report is to go to, when it is written.
        """
        from gradledger.runtime.audit import Audit

        self.end()
        self._place = place
        self._told.clear()
        self._folder = tempfile.mkdtemp(prefix="gradledger-")
        record = os.path.join(self._folder, "run.gradledger")
        audit = Audit(sample=self._sample, record=record)
        audit.measured.append(self._measured)
        self._audit = self._last = audit.__enter__()
        atexit.register(self.end)

    def tell(self) -> None:
        """Tell what was found since the last time; raises `LawBroken` where that was asked for."""
        audit = self._audit
        if audit is None:
            return
        for finding in audit.findings:
            if (finding.rule, finding.at) not in self._told:
                self._told.add((finding.rule, finding.at))
                self._hand_over(finding)

    def end(self, error: BaseException | None = None) -> None:
        """The training is over: the report is written, and what the end brought is told."""
        audit, self._audit = self._audit, None
        if audit is None:
            return
        atexit.unregister(self.end)
        kind = type(error) if error is not None else None
        audit.__exit__(kind, error, error.__traceback__ if error is not None else None)
        try:
            folder = self._place()
            path = self._report or (os.path.join(folder, REPORT) if folder else None)
            if path is not None and _speaks():
                self._write(audit, Path(path))
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
        if error is None:
            self._audit = audit
            try:
                self.tell()
            finally:
                self._audit = None

    @property
    def book(self) -> Audit | None:
        """The audit of this training, or of the last one; None before the first."""
        return self._last

    @property
    def is_open(self) -> bool:
        """Whether a training is being audited."""
        return self._audit is not None

    def metrics(self) -> dict[str, float]:
        """For the framework's logger: the norm of the last step, and how much was found so far."""
        if self._audit is None or not self._norms:
            return {}
        norms, self._norms = self._norms, {}
        names = self._audit.names
        made = {"gradledger/findings": float(len(self._audit.findings))}
        for optimizer, norm in norms.items():
            several = f"/{names.get(optimizer, optimizer)}" if len(norms) > 1 else ""
            made[f"gradledger/grad_norm{several}"] = norm
        return made

    # Listening and speaking

    def _measured(self, told: Measured) -> None:
        if told.name == _NORM and told.total is not None:
            self._norms[told.optimizer] = told.total

    def _hand_over(self, finding: Finding) -> None:
        from gradledger.runtime.audit import in_a_sentence

        if not isinstance(self._on_finding, str):
            self._on_finding(finding)
        elif self._on_finding == "raise" and find(finding.rule).severity is Severity.ERROR:
            broken = LawBroken(in_a_sentence(finding), finding)
            self.end(broken)
            raise broken
        else:
            # At the user's line: whatever called us is the framework's.
            at = finding.at
            warnings.warn_explicit(in_a_sentence(finding), FindingWarning, at.path, at.line)

    def _write(self, audit: Audit, path: Path) -> None:
        from gradledger.recording import Recording
        from gradledger.report.chronicle import told
        from gradledger.report.page import page

        verdict: Verdict = audit.verdict(os.path.basename(sys.argv[0]) or "the training")
        assert audit.recording is not None
        try:
            with Recording(audit.recording) as recording:
                text = page([told(recording)], verdict=verdict)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except (GradledgerError, OSError) as error:
            warnings.warn(f"there is no report: {error}", FindingWarning, stacklevel=2)

    def __enter__(self) -> FrameworkAudit:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.end(error)


class LedgerOptions:
    """What a callback of any framework is made with."""

    def __init__(
        self,
        *,
        on_finding: OnFinding = "warn",
        report: str | os.PathLike[str] | None = None,
        sample: int | None = None,
    ) -> None:
        super().__init__()
        self.ledger = FrameworkAudit(on_finding=on_finding, report=report, sample=sample)


def _speaks() -> bool:
    """Whether this process is the one of its job that writes the report."""
    return os.environ.get("RANK", "0") == "0"


def required(package: str, *, least: tuple[int, ...], what: str, install: str) -> Any:
    """The framework, imported; or one sentence on what to install."""
    from importlib import import_module

    # First: what an adapter imports of a new one may not be in an old one.
    new_enough(install, least=least, what=what)
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if not f"{package}.".startswith(f"{error.name}."):
            raise _broken(package, error) from error
        raise MissingFrameworkError(
            f"{what} needs {install}, which is not installed here: pip install {install}",
            name=package,
        ) from None
    except ImportError as error:
        raise _broken(package, error) from error


def new_enough(install: str, *, least: tuple[int, ...], what: str) -> None:
    """Raises MissingFrameworkError where an older version of this package is installed."""
    from importlib.metadata import PackageNotFoundError, version

    with suppress(PackageNotFoundError):
        there = version(install)
        if _numbers(there) < least:
            raise MissingFrameworkError(
                f"{what} needs {install} {'.'.join(map(str, least))} or newer, and {there} is "
                f"installed: pip install -U {install}",
                name=install,
            )


def _broken(package: str, error: ImportError) -> MissingFrameworkError:
    return MissingFrameworkError(f"{package} can't be imported here: {error}", name=package)


def _numbers(version: str) -> tuple[int, ...]:
    import re

    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
