"""The programs that one can pick in the playground, and what each is called in a link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gradledger.rules import CATALOGUE, programs
from gradledger.rules.rule import Rule
from website.directives import directives, source
from website.layout import PAGES
from website.navigation import LESSONS

OWN = Path(__file__).with_name("programs")
FIRST = {
    "accumulate": "Four batches a step, never cleared",
    "accumulate_right": "Four batches a step, right",
    "accumulate_cleared": "Four batches a step, cleared in each",
    "accumulate_left_over": "Four batches a step, and one batch too many",
}
"""The first is the one that is shown at first: it has one fault, which one edit cures."""


class Example(NamedTuple):
    """A program; `name` is what `playground.html#try=…` calls it."""

    name: str
    group: str
    title: str
    text: str


def examples() -> list[Example]:
    """All of them, in the order in which they are listed."""
    return [*_own(), *_of_pages(), *_of_rules()]


def name_of(rule: Rule, kind: str) -> str:
    """What the `bad` or the `good` program of a rule is called."""
    return f"{rule.code}-{kind}"


def is_checked(rule: Rule) -> bool:
    """True if the checker can see it broken: the playground has its programs."""
    return rule.seen_by.by_check


def _own() -> Iterator[Example]:
    for name, title in FIRST.items():
        text = (OWN / f"{name}.py").read_text(encoding="utf-8")
        yield Example(name, "Accumulation", title, text)


def _of_pages() -> Iterator[Example]:
    lessons = [PAGES / "learn" / f"{lesson}.md" for lesson in LESSONS]
    others = sorted(path for path in PAGES.rglob("*.md") if path not in lessons)
    seen = set()
    for page in (*lessons, *others):
        text = page.read_text(encoding="utf-8")
        found = re.search(r"^# (.+)", text, re.MULTILINE)
        title = found[1].replace("`", "") if found else page.stem
        for kind, name in directives(text):
            if kind in {"program", "play"} and name not in seen:
                seen.add(name)
                what = "exercise" if "exercise" in name else name
                group = "Lessons" if page in lessons else "Other pages"
                yield Example(name, group, f"{title}: {what}", source(name))


def _of_rules() -> Iterator[Example]:
    for rule in filter(is_checked, CATALOGUE):
        for kind, program in (("bad", programs.bad(rule)), ("good", programs.good(rule))):
            words = "at fault" if kind == "bad" else "right"
            text = "\n".join([*program.lines, ""])
            yield Example(name_of(rule, kind), "Rules", f"{rule.code} {rule.name}: {words}", text)
