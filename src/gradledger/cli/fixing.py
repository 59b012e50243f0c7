"""`--fix` and `--diff`: writes or shows the files with all certain fixes applied."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from gradledger.cli.checking import Outcome, check
from gradledger.cli.settings import Settings
from gradledger.ledger.values import replace
from gradledger.policy.roots import roots
from gradledger.report.counts import counted
from gradledger.report.paths import shown
from gradledger.report.replacements import Cures, replacements
from gradledger.static.fix import Fixed, fixes
from gradledger.static.source.files import decode, read_bytes


def fixed(settings: Settings, outcome: Outcome) -> Outcome:
    """Writes the fixed files (of standard input, to standard output); then what is left to say."""
    made = _made(settings, outcome)
    told = []
    changed = []
    for one in made:
        why = None if settings.stdin is not None else written(one)
        if why is None:
            changed.append(one)
            if not settings.quiet:
                rules = sorted({finding.rule for finding in one.cured})
                number = counted(len(one.cured), "finding")
                told.append(f"{shown(one.path)}: fixed {number}: {', '.join(rules)}")
        else:
            told.append(f"{shown(one.path)}: not fixed: {why}")
    stdin = outcome.stdin
    if stdin is not None:
        stdin = made[0].after if made else stdin
        put_bytes(stdin)
    if changed:
        outcome = check(settings, stdin=stdin)
    return replace(outcome, remarks=(*told, *outcome.remarks))


def differs(settings: Settings, outcome: Outcome) -> bool:
    """Shows what the fixes would change, as a patch. True if there is anything."""
    made = _made(settings, outcome)
    lines = [line for one in made for line in patch(one)]
    if settings.output:
        from gradledger.cli.delivery import OutputError, to_file

        try:
            to_file(settings.output, lambda stream: _put(lines, stream))
        except OSError as error:
            raise OutputError(f"{settings.output} can't be written: {error.strerror}.") from None
    else:
        show(lines)
    if sys.stderr is not None and not settings.quiet:
        number, of = sum(len(one.cured) for one in made), len(outcome.inspection.findings)
        said = f"{number} of {counted(of, 'finding')} would be fixed." if of else "Nothing to fix."
        print(said, file=sys.stderr)
    return bool(made)


def show(patch: Sequence[bytes]) -> None:
    """Puts a patch on standard output: as it is, or for a terminal without control characters."""
    if sys.stdout is not None and sys.stdout.isatty():
        from gradledger.report.visible import put, visible

        for line in patch:
            put(visible(line.decode("utf-8", "replace").rstrip("\r\n")), sys.stdout)
    else:
        put_bytes(b"".join(patch))


def replaced(settings: Settings, outcome: Outcome) -> Cures:
    """The fix of each finding by itself, as edits of lines; findings in notebooks have none."""
    found = {}
    for finding in outcome.inspection.findings:
        if finding.at.path.endswith(".py") or settings.stdin is not None:
            alone = replace(outcome, inspection=replace(outcome.inspection, findings=(finding,)))
            for one in _made(settings, alone):
                before, after = decode(one.before), decode(one.after)
                found[finding.rule, finding.at] = tuple(replacements(before, after))
    return found


def put_bytes(data: bytes) -> None:
    """Writes to standard output without changing line ends or encoding."""
    if sys.stdout is not None:
        sys.stdout.flush()
        _put([data], sys.stdout)


def _made(settings: Settings, outcome: Outcome) -> list[Fixed]:
    at_hand = {}
    if settings.stdin is not None and outcome.stdin is not None:
        at_hand[settings.stdin] = outcome.stdin
    made = fixes(
        outcome.inspection.findings,
        outcome.files,
        roots=roots([settings.stdin] if settings.stdin is not None else settings.paths),
        at_hand=at_hand,
    )
    return list(made)


def written(one: Fixed) -> str | None:
    """Writes the whole file, following symbolic links; or says why it can't."""
    from gradledger.cli.delivery import to_file

    path = os.path.realpath(one.path)
    if read_bytes(path) != one.before:
        return "it was changed meanwhile"
    # A new file could still replace it, but its permissions say that it must not change.
    if not stat.S_IMODE(os.stat(path).st_mode) & 0o222 or not os.access(path, os.W_OK):
        return "it is read-only"
    try:
        to_file(path, lambda stream: _put([one.after], stream))
    except OSError as error:
        return f"it can't be written: {error.strerror}"
    return None


def _put(data: Iterable[bytes], stream: TextIO) -> None:
    raw = stream.buffer
    for part in data:
        raw.write(part)
    raw.flush()


def patch(one: Fixed) -> Sequence[bytes]:
    """The lines of the patch, byte for byte as `patch -p0` expects them."""
    from difflib import diff_bytes, unified_diff

    name = os.fsencode(shown(one.path))
    # Split at newlines only, as `patch` does: a lone carriage return doesn't end a line.
    before, after = (re.findall(rb"[^\n]*\n|[^\n]+", data) for data in (one.before, one.after))
    lines = diff_bytes(unified_diff, before, after, name, name)
    return [
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
        for line in lines
    ]
