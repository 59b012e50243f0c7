"""What an editor shows when the pointer rests on a finding: the rule, and how it is broken here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradledger.ledger.findings import Finding, WitnessStep
from gradledger.rules import find
from gradledger.rules.explanation import before_the_example, sentence
from gradledger.rules.framework_cures import fix
from gradledger.rules.ordering import severity


def explained(findings: Iterable[Finding]) -> str:
    """Markdown, with a section for each finding."""
    return "\n\n---\n\n".join("\n\n".join(_explained(finding)) for finding in findings)


def _explained(finding: Finding) -> Iterator[str]:
    rule = find(finding.rule)
    yield f"### {rule.code} {rule.name} ({severity(finding).value}, {finding.certainty})"
    says, *rest = before_the_example(rule)
    yield says[1]
    yield f"**Here**: {sentence(finding.detail)}"
    yield from _witness(finding)
    yield f"**How to fix**: {sentence(fix(finding))}"
    for heading, text in rest:
        yield f"**{heading}**: {text}"


def _witness(finding: Finding) -> Iterator[str]:
    """The path on which it happens, and what that path assumes."""
    if finding.witness:
        steps = [f"{n}. {_step(step, finding)}" for n, step in enumerate(finding.witness, 1)]
        yield "\n".join(["**How it happens**:", "", *steps])
    if finding.assumptions:
        yield f"**Assumes**: {'; '.join(finding.assumptions)}."


def _step(step: WitnessStep, finding: Finding) -> str:
    at, here = step.at, step.at.path == finding.at.path
    place = f"line {at.line}" if here else f"{at.path}:{at.line}"
    return f"{step.what}, {place}" + (f" ({step.when})" if step.when else "")
