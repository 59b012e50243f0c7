"""`--summary`: a short verdict in Markdown, which a CI job shows on its page."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradledger.ledger.verdict import Verdict
    from gradledger.report.inspection import Inspection

OF_THE_JOB = "GITHUB_STEP_SUMMARY"
"""In a GitHub Actions workflow, the file to which every step appends its summary."""


class Summary:
    """The summary's file: the named one, else that of the CI job, if there is one."""

    def __init__(self, named: str | None) -> None:
        self._named = named
        self._of_the_job = os.environ.get(OF_THE_JOB) or None

    def write(self, verdict: Verdict | Inspection) -> str:
        """Writes it. Returns an empty string, or why it could not be written."""
        path = self._named or self._of_the_job
        if path is None:
            return ""
        from gradledger.report.markdown import summary

        mode = "a" if path == self._of_the_job else "w"
        try:
            with open(path, mode, encoding="utf-8", errors="replace") as file:
                file.write(summary(verdict))
        except OSError as error:
            return f"the summary {path} can't be written: {error.strerror}."
        return ""
