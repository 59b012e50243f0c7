"""Run a training script and audit its gradients.

The script runs as under plain Python: same results, same output, same exit status. When it ends,
crashes or is interrupted, the verdict says which rules it broke, and where.

  gradledger run train.py --epochs 3          a script and its arguments
  gradledger run -m package.train --epochs 3  a module
  gradledger run accelerate test              an installed command
  gradledger run torchrun --nproc_per_node 2 train.py

Put gradledger's options before the script; everything after it belongs to the script. Processes
that the script starts are audited too if they train, and share its verdict.
[tool.gradledger.run] in pyproject.toml sets defaults for these options.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gradledger.errors import OptionError

if TYPE_CHECKING:
    from gradledger.runtime.outputs.tracker_sink import Sink

FORMATS = ("text", "concise", "json", "github", "sarif", "gitlab", "rdjson")
TRACKERS = ("wandb", "mlflow", "trackio", "tensorboard")
_WITH_VALUE = {
    "--format", "--output", "--record", "--html", "--tensorboard", "--fail-on", "--select",
    "--ignore", "--sample", "--summary", "--log",
}  # fmt: skip


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our options, and everything from the script on, which we don't parse."""
    place = 0
    while place < len(words):
        word = words[place]
        if word == "--":
            return list(words[:place]), list(words[place + 1 :])
        if word.startswith("-m") or not word.startswith("-") or word == "-":
            break
        place += 2 if word in _WITH_VALUE else 1
    return list(words[:place]), list(words[place:])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `gradledger run`."""
    parser.usage = "gradledger run [options] (SCRIPT | -m MODULE | COMMAND) [arguments ...]"
    parser.allow_abbrev = False  # an abbreviated option is a mistake, and the script isn't run
    add = parser.add_argument
    add("--format", choices=FORMATS, default="text", help="format of the verdict (default: text)")
    add(
        "--output",
        metavar="FILE",
        help="write the verdict to FILE (default: text to stderr, other formats to stdout)",
    )
    add("--record", metavar="FILE", help="record every event of the run in FILE")
    add("--html", metavar="FILE", help="write an HTML page: timeline, gradient norms, findings")
    add("--tensorboard", metavar="DIR", help="write gradient norms and windows for TensorBoard")
    add(
        "--fail-on",
        choices=("error", "warning", "unseen"),
        help="exit with 1 if the script succeeded but has a finding of this severity or worse; "
        "unseen: also if anything was not seen",
    )
    add(
        "--select",
        metavar="RULES",
        action="append",
        default=[],
        help="only these rules: codes, names or laws, separated by commas (GL101,GL2)",
    )
    add("--ignore", metavar="RULES", action="append", default=[], help="all rules except these")
    add(
        "--sample",
        metavar="N",
        type=int,
        help="audit the first 100 steps, then only every Nth one, for less overhead",
    )
    add("--live", action="store_true", help="show steps, norms and findings while the script runs")
    add(
        "--log",
        metavar="TRACKER",
        action="append",
        default=[],
        choices=TRACKERS,
        help="send norms, windows, skips and findings to wandb, mlflow, trackio or tensorboard",
    )
    add(
        "--summary",
        metavar="FILE",
        help="write a short verdict in Markdown (default in GitHub Actions: the job's summary)",
    )
    add("-q", "--quiet", action="store_true", help="one line per finding, no summary")
    parser.epilog = (
        "exit status: the script's own; 1 if the script succeeded and --fail-on applies;\n"
        "2 if the script couldn't be started"
    )


def run(args: argparse.Namespace) -> Callable[[], int]:
    """Finds the script and checks that everything is ready. The returned function runs it."""
    from gradledger.cli.auditing import FAILED, Auditing
    from gradledger.cli.delivery import check_output
    from gradledger.cli.reports import Reports
    from gradledger.rules.selection import codes
    from gradledger.runtime.launch.run_program import launch
    from gradledger.runtime.launch.scripts import TargetError
    from gradledger.runtime.launch.targets import find_target
    from gradledger.torch_extra import require_torch

    require_torch("gradledger run")
    if args.sample is not None and args.sample < 1:
        raise OptionError(
            f"--sample must be at least 1, got {args.sample}. 1 audits every step, 10 every tenth."
        )
    kept = codes(select=args.select, ignore=args.ignore)
    if not kept:
        raise OptionError("--ignore leaves no rule of those selected. There is nothing to audit.")
    output = args.output and check_output(args.output, option="--output")
    summary = args.summary and check_output(args.summary, option="--summary")
    reports = Reports(record=args.record, html=args.html, tensorboard=args.tensorboard)
    words, module = _named(args.rest)
    target = find_target(words, module=module)
    auditing = Auditing(
        target.subject,
        kept=kept,
        format=args.format,
        quiet=args.quiet,
        output=output,
        reports=reports,
        fail_on=args.fail_on,
        sample=args.sample,
        live=args.live,
        summary=summary,
        log=_sink(args.log),
    )

    def start() -> int:
        auditing.reach_children()
        try:
            return launch(target, auditing, at_sigterm=auditing.among_ranks)
        except TargetError as error:
            print(f"gradledger: {error}", file=sys.stderr)
            return FAILED

    return start


def _sink(names: list[str]) -> Sink | None:
    if not names:
        return None
    if len(names) > 1:
        raise OptionError(f"--log takes one tracker, got {' and '.join(names)}.")
    from gradledger.integrations.trackers import tracker

    return tracker(names[0])


def _named(rest: list[str]) -> tuple[list[str], bool]:
    """The script or the module, with its arguments, and whether it is a module."""
    module = bool(rest) and rest[0].startswith("-m")
    words = rest
    if module:
        words = rest[1:] if rest[0] == "-m" else [rest[0][2:], *rest[1:]]
    if not words:
        raise OptionError(
            "there is nothing to run. Name a script, as in `gradledger run train.py`, or see "
            "`gradledger run --help`."
        )
    return words, module
