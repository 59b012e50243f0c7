"""The pages of Why?: one for each symptom and message, from `gradledger.why`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradledger.cli.why import to_run
from gradledger.rules import find
from gradledger.why import MESSAGES, SYMPTOMS, Entry


def pages() -> dict[str, str]:
    """`why/…`."""
    found = {f"why/{entry.name}.md": page(entry) for entry in (*SYMPTOMS, *MESSAGES)}
    return {"why/index.md": index(), **found}


def index() -> str:
    """All of them, to pick one."""
    parts = [
        "# Why?",
        "What you see, and what is likely behind it. On the command line, "
        '`gradledger why "loss oscillates"` and `gradledger why < traceback.txt` say the same.',
        "## What you see",
        _table(SYMPTOMS),
        "## What torch prints",
        _table(MESSAGES),
    ]
    return "\n\n".join(parts) + "\n"


def page(entry: Entry) -> str:
    """One symptom or message."""
    return "\n\n".join(_parts(entry)) + "\n"


def _parts(entry: Entry) -> Iterator[str]:
    yield f"# {_title(entry)}"
    if entry.messages:
        yield "```text\n" + "\n".join(entry.messages) + "\n```"
    yield entry.says
    yield "## Likely causes"
    yield "The likeliest first."
    yield "\n".join(_cause(number, entry) for number in range(len(entry.causes)))
    commands = to_run(entry)
    if commands:
        yield "## What to run"
        lines = (f"$ {command}    # {what}" for command, what in commands)
        yield "```console\n" + "\n".join(lines) + "\n```"
    if entry.words:
        said = "; ".join(entry.words)
        yield f'<p class="also" hidden>{said}</p>'  # for the search


def _cause(number: int, entry: Entry) -> str:
    cause = entry.causes[number]
    rule = ""
    if cause.rule:
        rule = f" [{cause.rule} {find(cause.rule).name}](../reference/rules/{cause.rule}.md)"
    return f"{number + 1}. **{_sentence(cause.what)}**{rule}\n\n    To fix it, {cause.fix}.\n"


def _table(entries: Sequence[Entry]) -> str:
    rows = [
        f"| [{_title(entry)}]({entry.name}.md) | {_sentence(entry.causes[0].what)} |"
        for entry in entries
    ]
    return "\n".join(["| | likeliest cause |", "| --- | --- |", *rows])


def _title(entry: Entry) -> str:
    return entry.title.replace("_", r"\_").replace("`", "")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
