"""What the viewer says about a place, a window or a finding when one clicks on it."""

from __future__ import annotations

from gradledger.ledger.places import Place
from gradledger.report.chronicle import Chronicle, Used, Window, weighed
from gradledger.report.contents import weighings
from gradledger.report.counts import counted
from gradledger.report.paths import shown
from gradledger.report.perfetto.events import Details
from gradledger.report.sources import Sources
from gradledger.report.visible import visible
from gradledger.rules import find
from gradledger.rules.framework_cures import fix


class Words:
    """Everything in words that is harmless in JSON and on a page."""

    def __init__(self, chronicle: Chronicle) -> None:
        self._chronicle = chronicle
        self._sources = Sources(chronicle.verdict.sources)
        self._short = [_last_part(site) for site in chronicle.sites]
        self._details = [self._of_place(site) for site in chronicle.sites]
        self._deposits: dict[tuple[int, int], Details] = {}
        self._contents: dict[tuple[Used, ...], Details] = {}

    def short(self, site: int) -> str:
        """`train.py:38`, without the folders."""
        return self._short[site]

    def place(self, site: int) -> Details:
        """Where something happened."""
        return self._details[site]

    def deposit(self, site: int, weight: int) -> Details:
        """Where something was deposited, and how much it weighs."""
        known = self._deposits.get((site, weight))
        if known is None:
            said = weighed(self._chronicle.weights[weight])
            known = {**self.place(site), "weight": said} if said else self.place(site)
            self._deposits[site, weight] = known
        return known

    def window(self, window: Window) -> Details:
        """What a step spent."""
        known = self._contents.get(window.used)
        if known is None:
            known = self._contents[window.used] = {
                name: said
                for again, name in ((False, "deposited"), (True, "spent again"))
                if (said := [self._used(used) for used in window.used if used.again is again])
            }
        counts = {"step": window.number, "deposits": window.deposits}
        return {**counts, **known, **self.place(window.site)}

    def finding(self, index: int) -> tuple[str, Details]:
        """A finding's name, and what there is to say."""
        finding = self._chronicle.verdict.findings[index]
        rule = find(finding.rule)
        details = {
            "severity": rule.severity.value,
            "says": rule.says,
            "detail": visible(finding.detail),
            "times": finding.count,
            "fix": fix(finding),
            **self._of_place(finding.at),
        }
        return f"{rule.code} {rule.name}", details

    def _used(self, used: Used) -> str:
        count = counted(used.deposits, "deposit")
        said = f"{self.short(used.site)}: {count} in {counted(used.parameters, 'parameter')}"
        weights = weighings(used.weights, self._chronicle.weights)
        return f"{said}, {weights}" if weights else said

    def _of_place(self, place: Place) -> Details:
        at = {"at": visible(f"{shown(place.path)}:{place.line}")}
        code = self._sources.code(place)
        return {**at, "code": code} if code else at


def _last_part(place: Place) -> str:
    name = place.path.replace("\\", "/").rsplit("/", 1)[-1]
    return visible(f"{name}:{place.line}")
