"""Writes docs/rules: a page for each rule and an index, all of it from the rules themselves.

`python -m gradledger.rules.pages docs/rules` writes them, and with `--check` fails when they are
not what it would write.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path

from gradledger.ledger.laws import Law
from gradledger.rules import programs
from gradledger.rules.catalogue import CATALOGUE
from gradledger.rules.explanation import Section, after_the_example, before_the_example, sentence
from gradledger.rules.programs import Program
from gradledger.rules.rule import Rule

INDEX = "README.md"

_NOTE = "<!-- Written by `make docs` from src/gradledger/rules. Edit the rule, not this page. -->"

_WORDS = """\
| word | meaning |
| --- | --- |
| cell | one parameter's `.grad` |
| deposit | what one `backward()` adds to a cell, or what code puts there by hand |
| spend | an `optimizer.step()` that really updates; one that a GradScaler skips spends nothing |
| clear | `zero_grad()`, `p.grad = None` or anything else that empties a cell |
| window | all the deposits that one spend uses; accumulating over N batches is a window of N |
| owner | the optimizer that holds the parameter |
"""


def pages(catalogue: Sequence[Rule] = CATALOGUE) -> dict[str, str]:
    """Every page of docs/rules by its file name."""
    return {INDEX: index(catalogue)} | {f"{rule.code}.md": page(rule) for rule in catalogue}


def index(catalogue: Sequence[Rule]) -> str:
    """All rules, grouped by the law that they guard."""
    parts = [
        "# The rules",
        _NOTE,
        "Nine laws say what happens to a gradient between the backward pass that makes it and the "
        "step that uses it. Each rule is a way to break one of them. *check* reads source code and "
        "runs nothing; *run* watches a real training. `gradledger rule GL101` shows any of these "
        "pages in the terminal.",
        "## The words",
        _WORDS.rstrip(),
    ]
    for law in Law:
        parts += [f"## {_title(law)}", law.text]
        guards = [rule for rule in catalogue if rule.law is law]
        if guards:
            rows = [
                f"| [{r.code}]({r.code}.md) | {r.name} | {r.severity.value} | {r.seen_by.value} "
                f"| {_cell(sentence(r.says))} |"
                for r in guards
            ]
            head = ["| rule | name | severity | seen by | |", "| --- | --- | --- | --- | --- |"]
            parts.append("\n".join([*head, *rows]))
    return "\n\n".join(parts) + "\n"


def page(rule: Rule) -> str:
    """Everything about one rule."""
    wrong, right = programs.bad(rule), programs.good(rule)
    law = f"[{_title(rule.law)}]({INDEX}#{_anchor(rule.law)}). {rule.law.text}"
    parts = [
        f"# {rule.code}: {rule.name}",
        _NOTE,
        "| severity | law | seen by |\n| --- | --- | --- |\n"
        f"| {rule.severity.value} | {_cell(law)} | {rule.seen_by.value} |",
        *_sections(before_the_example(rule)),
        "## Example",
        sentence(wrong.purpose),
        _code(wrong),
        "## Use instead",
        _code(right),
        "## The difference",
        f"```diff\n{difference(wrong, right)}\n```",
        f"The whole programs, which run as they are: {_link(wrong)} and {_link(right)}.",
        *_sections(after_the_example(rule)),
    ]
    return "\n\n".join(parts) + "\n"


def difference(wrong: Program, right: Program) -> str:
    """What the cure changes, as a diff of the two programs without their marks."""
    return "\n".join(
        unified_diff(wrong.lines, right.lines, wrong.name, right.name, n=2, lineterm="")
    )


def write(folder: Path) -> None:
    """Writes every page, and removes those of rules that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    for stray in _strays(folder, wanted):
        # Only what was certainly written here: a wrong folder name must not cost anybody a file.
        if re.fullmatch(r"GL\d{3}\.md", stray.name):
            stray.unlink()


def stale(folder: Path) -> Iterator[str]:
    """A diff for each file that is not as it would be written, is missing, or does not belong."""
    wanted = pages()
    for name, text in wanted.items():
        path = folder / name
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        yield from _diff(old, text, str(path) if path.exists() else "/dev/null", f"{path} (new)")
    for stray in _strays(folder, wanted):
        text = stray.read_text(encoding="utf-8", errors="replace")
        yield from _diff(text or "(empty)", "", str(stray), "/dev/null")


def main(argv: Sequence[str] | None = None) -> int:
    """Writes or checks the pages, for `make docs` and `make check`."""
    parser = argparse.ArgumentParser(prog="python -m gradledger.rules.pages", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the pages are, docs/rules")
    parser.add_argument("--check", action="store_true", help="write nothing, fail where stale")
    args = parser.parse_args(argv)
    if not args.check:
        write(args.folder)
        return 0
    differences = list(stale(args.folder))
    if differences:
        print("\n".join(differences))
        print(f"{args.folder} is stale: run `make docs` and commit what it writes", file=sys.stderr)
        return 1
    return 0


def _strays(folder: Path, wanted: dict[str, str]) -> list[Path]:
    if not folder.is_dir():
        return []
    there = (path for path in folder.iterdir() if not path.name.startswith("."))
    return sorted(path for path in there if path.is_file() and path.name not in wanted)


def _diff(old: str, new: str, old_name: str, new_name: str) -> Iterator[str]:
    if old != new:
        yield from unified_diff(old.splitlines(), new.splitlines(), old_name, new_name, lineterm="")


def _code(program: Program) -> str:
    """The lines that matter, marks included; what is left out between them is `...`."""
    source, shown = program.source.splitlines(), program.frame()
    lines = []
    for before, number in zip([shown[0] - 1, *shown], shown, strict=False):
        line = source[number - 1]
        if number != before + 1:
            lines.append(" " * (len(line) - len(line.lstrip())) + "...")
        lines.append(line)
    return "```python\n" + "\n".join(lines) + "\n```"


def _link(program: Program) -> str:
    return f"[{program.name}](../../src/gradledger/rules/examples/{program.name})"


def _sections(sections: Sequence[Section]) -> Iterator[str]:
    for heading, text in sections:
        yield f"## {heading}"
        yield text


def _title(law: Law) -> str:
    return f"Law {law.number}: {law.title}"


def _anchor(law: Law) -> str:
    """GitHub's name for the heading `Law 1: Once`."""
    return _title(law).lower().replace(":", "").replace(" ", "-")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
