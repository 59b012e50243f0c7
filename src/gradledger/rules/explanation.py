"""What there is to say about a rule, in order: its page and the terminal tell the same story."""

from __future__ import annotations

from gradledger.rules.catalogue import find
from gradledger.rules.rule import Rule

Section = tuple[str, str]
"""A heading and a paragraph."""

CURE = "How to fix"


def before_the_example(rule: Rule) -> list[Section]:
    """What is wrong, why it matters, and how one comes across it."""
    sections = [
        ("What it says", sentence(rule.says)),
        ("What breaks it", rule.explains),
        ("Why it matters", rule.why),
        ("What you see", sentence(rule.symptom)),
    ]
    if rule.stops:
        sections.append(
            (
                "It ends the program",
                "The marked line raises, and nothing after it happens. gradledger says what led "
                "to it.",
            )
        )
    if rule.yields_to:
        causes = " or ".join(f"{code} ({find(code).name})" for code in rule.yields_to)
        sections.append(
            (
                "What it yields to",
                f"Where {causes} is found at the same place, only that is reported: it names the "
                "cause, and this would be its symptom.",
            )
        )
    return sections


def after_the_example(rule: Rule) -> list[Section]:
    """The cure."""
    return [(CURE, sentence(rule.fix))]


def facts(rule: Rule) -> dict[str, object]:
    """The same for a machine."""
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "law": rule.law.number,
        "seen_by": {"check": rule.seen_by.by_check, "run": rule.seen_by.by_run},
        "says": rule.says,
        "explains": rule.explains,
        "why": rule.why,
        "symptom": rule.symptom,
        "fix": rule.fix,
        "stops": rule.stops,
        "yields_to": list(rule.yields_to),
    }


def sentence(text: str) -> str:
    """A message as a sentence, with a capital and a full stop; a word of code stays as it is."""
    first = text.split(maxsplit=1)[0]
    start = text[0].upper() if first.isalpha() else text[0]
    return start + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
