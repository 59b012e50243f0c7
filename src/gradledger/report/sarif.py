"""A verdict as SARIF 2.1.0, for code hosts and editors."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.ledger.verdict import Verdict
from gradledger.report.as_json import whole
from gradledger.report.fingerprints import Fingerprints
from gradledger.report.gaps import NOT_SEEN, gaps
from gradledger.report.inspection import Inspection
from gradledger.report.paths import cell_of, inside, is_no_file
from gradledger.report.regions import Regions
from gradledger.report.replacements import Cures
from gradledger.report.sources import Sources
from gradledger.rules import Rule, Severity, find
from gradledger.rules.explanation import sentence
from gradledger.rules.framework_cures import fix
from gradledger.rules.homepage import page_of
from gradledger.rules.ordering import ordered

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def document(verdict: Verdict | Inspection, cures: Cures | None = None) -> dict[str, Any]:
    """One run of one tool, with the rules that were broken and the edits that fix them."""
    findings = ordered(verdict.findings)
    codes = sorted({finding.rule for finding in findings})
    code = _Code(Sources(verdict.sources), Regions(verdict.sources), cures or {})
    prints = Fingerprints(code.sources)
    driver = {
        "name": "gradledger",
        "version": version("gradledger"),
        "rules": [_rule(find(code)) for code in codes],
    }
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                # The reader knows where that is; an absolute path would be valid on one machine.
                "originalUriBaseIds": {
                    ROOT: {"description": {"text": "The directory that gradledger ran in."}}
                },
                "columnKind": "unicodeCodePoints",
                "results": [
                    {"ruleIndex": codes.index(finding.rule), **_result(finding, code, prints)}
                    for finding in findings
                ],
                **_invocations(verdict),
            }
        ],
    }


class _Code(NamedTuple):
    """What is known of the code that the findings are in."""

    sources: Sources
    regions: Regions
    cures: Cures


def _invocations(verdict: Verdict | Inspection) -> dict[str, Any]:
    """What the results don't cover, as notifications; empty if there is nothing to say."""
    found = list(gaps(verdict))
    if not found:
        return {}
    told = [
        {
            "descriptor": {"id": gap.name},
            "level": "note" if gap.name == NOT_SEEN else "error",
            "message": {"text": whole(gap.sentence)},
        }
        for gap in found
    ]
    whole_run = all(gap.name == NOT_SEEN for gap in found)
    return {"invocations": [{"executionSuccessful": whole_run, "toolExecutionNotifications": told}]}


def _rule(rule: Rule) -> dict[str, Any]:
    url = page_of(rule)
    return {
        "id": rule.code,
        "name": rule.name,
        **({"helpUri": url} if url else {}),
        "shortDescription": {"text": sentence(rule.says)},
        "fullDescription": {"text": rule.explains},
        "help": {"text": f"{rule.why}\n\nFix: {rule.fix}"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"law": rule.law.number},
    }


def _result(finding: Finding, code: _Code, prints: Fingerprints) -> dict[str, Any]:
    rule = find(finding.rule)
    cell = cell_of(finding.at.path)[1]
    here = f"Cell {cell}, line {finding.at.line}" if cell else "Here"
    told = f"{sentence(rule.says)} {here}: {finding.detail}. Fix: {fix(finding)}."
    if finding.assumptions:
        told += f" Assumes: {'; '.join(finding.assumptions)}."
    related = [(e.at, e.what, e.note) for e in finding.told if e.at is not None]
    return {
        "ruleId": rule.code,
        "level": _LEVELS[rule.severity],
        "message": {"text": whole(told)},
        "locations": [_location(finding.at, code)],
        "relatedLocations": [
            {
                "id": number,
                **_location(at, code),
                "message": {"text": whole(f"{what} {note}".strip())},
            }
            for number, (at, what, note) in enumerate(related, start=1)
        ],
        **_code_flows(finding, code),
        **_fixes(finding, code),
        "occurrenceCount": finding.count,
        "partialFingerprints": {"gradledger/v1": prints.of(finding)},
        "properties": {
            "certainty": finding.certainty,
            "parameters": sorted(map(whole, finding.cells)),
            **({"assumptions": list(map(whole, finding.assumptions))} if finding.witness else {}),
        },
    }


def _code_flows(finding: Finding, code: _Code) -> dict[str, Any]:
    """The path that shows the fault, for viewers that step through it; empty if there is none."""
    if not finding.witness:
        return {}
    steps = [
        {
            "location": {
                **_location(step.at, code),
                "message": {"text": f"{step.what}, {step.when}" if step.when else step.what},
            },
            "executionOrder": number,
            "nestingLevel": len(step.at.way) - 1,
        }
        for number, step in enumerate(finding.witness, start=1)
    ]
    return {"codeFlows": [{"threadFlows": [{"locations": steps}]}]}


def _fixes(finding: Finding, code: _Code) -> dict[str, Any]:
    edits = code.cures.get((finding.rule, finding.at))
    if not edits:
        return {}
    change = {
        "artifactLocation": _artifact(finding.at.path),
        "replacements": [
            {
                "deletedRegion": {
                    "startLine": edit.line,
                    "startColumn": 1,
                    "endLine": edit.end,
                    "endColumn": 1,
                },
                "insertedContent": {"text": whole(edit.text)},
            }
            for edit in edits
        ],
    }
    description = {"text": whole(sentence(fix(finding)))}
    return {"fixes": [{"description": description, "artifactChanges": [change]}]}


def _location(place: Place, code: _Code) -> dict[str, Any]:
    path, cell = cell_of(place.path)
    # Lines would be those of the notebook's JSON file; where its code is in it isn't known.
    region: dict[str, Any] = {"startLine": 1 if cell else max(place.line, 1)}
    found = None if cell else code.regions.of(place)
    if found is not None and (found.end_line, found.end_column) > (found.line, found.column):
        region |= {
            "startColumn": found.column + 1,
            "endLine": found.end_line,
            "endColumn": found.end_column + 1,
        }
    elif place.column and not cell:
        region["startColumn"] = code.sources.column(place)
    if line := code.sources.line(place.path, place.line):
        region["snippet"] = {"text": line}
    where: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": _artifact(path), "region": region}
    }
    if cell:
        where["logicalLocations"] = [{"name": f"cell {cell}, line {place.line}", "kind": "member"}]
    return where


def _artifact(path: str) -> dict[str, str]:
    below = inside(path)
    if below is not None:
        return {"uri": _quoted(below.replace(os.sep, "/")), "uriBaseId": ROOT}
    if not is_no_file(path) and os.path.isabs(path):
        return {"uri": Path(path).as_uri()}
    return {"uri": _quoted(path)}


def _quoted(path: str) -> str:
    try:
        return quote(path.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:  # a lone surrogate, which Windows allows in a file name
        return quote(path.encode("utf-8", "replace"))
