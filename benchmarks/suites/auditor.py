"""What `gradledger run` finds and costs, next to torch's own means and to TrainCheck."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import torch

from benchmarks import auditing, traincheck
from benchmarks.peers import TRAINCHECK
from benchmarks.results import Results, Table, versions
from benchmarks.said import Everything, Said, sums, verdicts
from benchmarks.watching import detect_anomaly, gradledger_run, plain_torch
from gradledger.rules import Rule
from gradledger.rules.programs import bad, good

TITLE = "What an audit finds and costs"
ABOUT = """\
Cost: CPU time of a training step on one thread, next to the same training that nobody watches. \
What is found: every rule that is seen at run time has a bad program and a good one, which differ \
in the cure alone. Both are run under `gradledger run`; by plain Python, for what torch itself \
warns of or refuses; under `torch.autograd.detect_anomaly()`; and by TrainCheck, which learns from \
a run of the good program and then judges the bad one, and the good one with another seed."""

WORDS = """\
"found": something is said of the bad program that is not said of the good one, or, of gradledger, \
the rule is named at the marked line. "false": so many things are said of the good one. TrainCheck \
learns in minutes for each rule; where it says "not measured", `python -m benchmarks.traincheck` \
does that."""

Tool = Callable[[Path], set[str]]
TOOLS: Mapping[str, Tool] = {
    "gradledger run": gradledger_run,
    "torch itself": plain_torch,
    "detect_anomaly": detect_anomaly,
}
QUICK = ("GL101", "GL301", "GL503", "GL901")


def results(quick: bool) -> Results:
    """Cost first: the programs of the rules keep both cores busy."""
    torch.set_num_threads(1)
    tables: dict[str, Table] = {
        **auditing.cost(quick),
        "cost.traced": auditing.traced(quick),
        "long_run": auditing.long_run(4_000 if quick else 20_000),
    }
    rules = [rule for rule in traincheck.SEEN if not quick or rule.code in QUICK]
    said = everything(rules)
    tables["found"] = sums("Rule examples at run time, in all", said, WORDS)
    tables["rules"] = verdicts("Rule examples at run time", rules, said)
    peers = {TRAINCHECK.name: TRAINCHECK.version} if TRAINCHECK.version else {}
    packages = versions(["gradledger", "torch"])
    return Results("auditor", TITLE, ABOUT, tables, quick, versions=packages | peers)


def everything(rules: list[Rule]) -> Everything:
    """What each tool says of the programs of each rule."""
    codes = [rule.code for rule in rules]
    said: dict[str, dict[str, Said | str]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, ask in TOOLS.items():
            said[name] = dict(zip(codes, pool.map(partial(_said, ask), rules), strict=True))
    said[TRAINCHECK.name] = by_traincheck(rules)
    return said


def _said(ask: Tool, rule: Rule) -> Said:
    marked = {f"{rule.code} in line {line}" for line in bad(rule).marks}
    ours = marked if ask is gradledger_run else ()
    return Said.of(ask(bad(rule).path), ask(good(rule).path), ours)


def by_traincheck(rules: list[Rule]) -> dict[str, Said | str]:
    """What is known of it: to learn takes minutes for each rule, and is done by itself."""
    if why := TRAINCHECK.why_not():
        return {rule.code: why for rule in rules}
    known = traincheck.kept(rules)
    return {rule.code: _of(known.get(rule.code)) for rule in rules}


def _of(judged: traincheck.Judged | None) -> Said | str:
    if judged is None:
        return "not measured yet"
    if judged.trouble:
        return judged.trouble
    how = f"of {judged.invariants} invariants, the bad program breaks {judged.bad}"
    how += f", the good one with another seed {judged.good}"
    if judged.example:
        how += f'; only the bad one breaks "{judged.example}"'
    return Said(judged.only_bad, judged.bad, judged.good, how)
