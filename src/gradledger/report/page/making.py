"""Assembles the page."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version

from markupsafe import Markup

from gradledger.errors import GradledgerError
from gradledger.ledger.places import Place
from gradledger.ledger.verdict import Verdict
from gradledger.report.chronicle import Chronicle
from gradledger.report.page import charts, measures, playing, tables
from gradledger.report.page.findings import cards
from gradledger.report.page.overview import overview
from gradledger.report.page.rule_texts import rule_texts
from gradledger.report.templates import template
from gradledger.rules.ordering import WORST_FIRST, ordered

_FOLDER = os.path.dirname(__file__)
_BUNDLE = os.path.join(_FOLDER, "bundle")


class MissingBundleError(GradledgerError):
    """The script and the style of the page have not been built."""


def page(
    chronicles: Sequence[Chronicle],
    *,
    verdict: Verdict,
    cures: Mapping[tuple[str, Place], str] = {},
) -> str:
    """The whole HTML: it opens offline, makes no request, and shows findings without JavaScript.

    `cures` has a diff for the findings for which one certain edit is known, by rule and place.
    """
    chronicles = sorted(chronicles, key=lambda chronicle: chronicle.run.rank)
    findings = ordered(verdict.findings)
    script, style = _bundled("page.js"), _bundled("style.css")
    # A verdict has the sources that findings point into; a recording has all.
    sources = {path: text for c in chronicles for path, text in c.verdict.sources.items()}
    sources = {**sources, **verdict.sources}
    document = charts.document(chronicles, findings, sources)
    play = playing.play(chronicles, findings, sources, document["noun"])
    pinned = {pin[0] for rank in document["ranks"] for pin in rank["pins"]}
    return template(__file__, "page.html").render(
        version=version("gradledger"),
        policy=_policy(script),
        script=Markup(script),
        style=Markup(style),
        data=charts.embedded(document),
        play=charts.embedded(play) if play else None,
        play_about=playing.about(findings),
        overview=overview(chronicles, verdict),
        severities=[level.value for level in WORST_FIRST],
        cards=cards(verdict, findings, cures, pinned),
        rules=rule_texts(finding.rule for finding in findings),
        noun=document["noun"],
        turns=max((len(chronicle.turns) for chronicle in chronicles), default=0),
        lanes=tables.lanes(chronicles),
        flows=tables.flows(chronicles),
        leaks=any(link[4] for link in document["flows"]["links"]),
        ranks=tables.ranks(chronicles),
        disagreements=tables.disagreements(chronicles),
        measured=[
            (curve, document["measures"][curve.kind], tables.measures(chronicles, curve.series))
            for curve in measures.CURVES
        ],
    )


def _policy(script: str) -> str:
    """Nothing may be fetched, and only our script may run: a second defence behind the escaping."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


@cache
def _bundled(name: str) -> str:
    try:
        with open(os.path.join(_BUNDLE, name), encoding="utf-8", newline="") as file:
            text = file.read()
    except FileNotFoundError:
        raise MissingBundleError(
            f"gradledger was installed without {name}, which the HTML report is drawn with. In a "
            "checkout, `make install` or `pip install -e .` builds it; other formats work without."
        ) from None
    # A browser would take these for the end of the script, or for a comment in it.
    assert "</script" not in text.lower()
    assert "<!--" not in text
    return text
