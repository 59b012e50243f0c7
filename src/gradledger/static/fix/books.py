"""What a check says of some files, in a form that tells whether an edit has made it worse."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping

from gradledger.ledger.findings import Finding
from gradledger.static.fix.contents import Content
from gradledger.static.project.project import Project
from gradledger.static.runner.one_file import check_data
from gradledger.static.source.cell_places import file_and_cell

Key = tuple[str, str]
"""A rule, and the file that it is broken in. Not the line: edits move lines."""


class Books:
    """The findings of some files that belong together."""

    def __init__(self, contents: Mapping[str, Content], roots: tuple[str, ...]) -> None:
        project = Project(roots)
        for content in contents.values():
            if content.source is not None:
                project.module(content.source)  # what is imported is what we have at hand
        best: dict[tuple[str, str, int, int], Finding] = {}
        self.unfollowed = self.followed = 0
        for path, content in contents.items():
            checked, troubles, *_ = check_data(path, content.data, project, calls=True)
            self.followed += checked.followed
            self.unfollowed += len(checked.unknown) + len(troubles)
            for finding in checked.findings:
                at = finding.at
                key = finding.rule, os.path.abspath(at.path), at.line, at.column
                if key not in best or finding.certainty == "certain":
                    best[key] = finding
        self.findings = sorted(best.values(), key=lambda f: (f.at.sort_key, f.rule))
        self._all = Counter(map(key_of, self.findings))
        self._shown = Counter(map(key_of, filter(_is_shown, self.findings)))

    def rid_of(self, key: Key, earlier: Books) -> bool:
        """Is one finding of that kind less in them?"""
        return self._all[key] < earlier._all[key]

    def worse_than(self, earlier: Books) -> frozenset[Key]:
        """Where they say more than the earlier ones did, of what is shown without being asked."""
        return frozenset(key for key in self._shown if self._shown[key] > earlier._shown[key])

    def as_clear_as(self, earlier: Books) -> bool:
        """Was all followed that was followed before? What is not seen is not cured."""
        return self.followed >= earlier.followed and self.unfollowed <= earlier.unfollowed


def key_of(finding: Finding) -> Key:
    """The rule and the file."""
    return finding.rule, os.path.abspath(file_and_cell(finding.at.path)[0])


def _is_shown(finding: Finding) -> bool:
    return finding.certainty != "possible"
