"""TrainCheck on the two programs of a rule, step by step as its own guide has it.

It learns invariants from a reference run and holds other runs against them. Its reference here is
the good program itself: nobody has that who looks for a fault, and it is the most that it can be
given. Then it judges the bad program, and the good one with another seed. All are cut to a few
epochs, as the guide advises.

That takes minutes for each rule. So what was measured is kept, and used as long as program,
TrainCheck and torch are the same. The benchmark measures what is missing for one rule of each law;
`python -m benchmarks.traincheck` does it for all.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.peers import TRAINCHECK
from benchmarks.watching import RANKS
from gradledger.rules import CATALOGUE, Rule
from gradledger.rules.programs import bad, good

KEPT = Path(__file__).with_name("traincheck.json")
PATIENCE = 600
"""Seconds for each of its steps: several times what any of them takes."""

EPOCHS = 3
SEEN = [rule for rule in CATALOGUE if rule.seen_by.by_run]


@dataclass(frozen=True)
class Judged:
    """How many invariants it learned, and how many of them each run broke."""

    key: str
    invariants: int = 0
    bad: int = 0
    good: int = 0
    only_bad: int = 0
    """Those that the good program does not break, whatever its seed."""

    example: str = ""
    """One of these, in TrainCheck's words."""

    trouble: str = ""
    """Where it could not be done: its last words."""


def kept(rules: Iterable[Rule]) -> dict[str, Judged]:
    """What is known of these rules, by their codes."""
    everything = _read()
    return {rule.code: everything[rule.code] for rule in rules if _has_key(everything, rule)}


def measure(rules: Iterable[Rule]) -> None:
    """Keeps what is not known yet of these rules."""
    known = kept(rules)
    missing = [rule for rule in rules if rule.code not in known]
    # As many at once as there are processors; its own workers would each read the trace again.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for rule, judged in zip(missing, pool.map(measured, missing), strict=True):
            if judged:
                _write(_read() | {rule.code: judged})


def measured(rule: Rule) -> Judged | None:
    """All four steps, for both programs; None where this machine was too slow to tell."""
    with TemporaryDirectory() as folder:
        try:
            return _measured(rule, Path(folder))
        except Trouble as trouble:
            return Judged(_key(rule), trouble=str(trouble))
        except subprocess.TimeoutExpired:
            return None


class Trouble(Exception):
    """A step that did not come to its end."""


def _measured(rule: Rule, folder: Path) -> Judged:
    cured = short(good(rule).source)
    reference = collect(cured, folder / "reference")
    invariants = infer(reference, folder / "invariants.json")
    known = len(invariants.read_text(encoding="utf-8").splitlines())
    other_seed = cured.replace("manual_seed(0)", "manual_seed(1)")
    broken = {}
    for name, source in (("bad", short(bad(rule).source)), ("good", other_seed)):
        trace = collect(source, folder / name, must_pass=name == "good")
        broken[name] = set(check(trace, invariants, folder / f"{name}_checked"))
    only = sorted(broken["bad"] - broken["good"])
    counts = len(broken["bad"]), len(broken["good"]), len(only)
    return Judged(_key(rule), known, *counts, only[0] if only else "")


def collect(
    source: str, folder: Path, *, invariants: Path | None = None, must_pass: bool = True
) -> Path:
    """The trace of a program, run in a folder of its own: TrainCheck writes next to the script."""
    folder.mkdir()
    script = folder / "train.py"
    script.write_text(source, encoding="utf-8")
    words = ["--pyscript", str(script), "--models-to-track", *models(source)]
    if "init_process_group" in source:
        launch = folder / "launch.sh"
        torchrun = TRAINCHECK.command("torchrun")
        line = f"{torchrun} --standalone --nproc_per_node {RANKS} {script}\n"
        launch.write_text(line, encoding="utf-8")
        words += ["--shscript", str(launch)]
    if invariants is not None:
        words += ["--invariants", str(invariants)]
    # Its help has the second way for programs that are killed in the first one.
    for number, more in enumerate(([], ["--no-auto-var-instr"])):
        trace = folder / f"trace{number}"
        said = _run("traincheck-collect", [*words, *more, "--output-dir", str(trace)], folder)
        if "error code -" not in said:
            break
    if (must_pass and "exited with error" in said) or not any(trace.glob("trace_*")):
        raise Trouble(f"traced, the program does not run: {_last_words(said)}")
    return trace


def infer(trace: Path, output: Path) -> Path:
    """The file of invariants, one in a line."""
    said = _run("traincheck-infer", ["-f", str(trace), "-o", str(output)], trace.parent)
    if not output.exists():
        raise Trouble(f"traincheck-infer fails: {_last_words(said)}")
    return output


def check(trace: Path, invariants: Path, output: Path) -> Iterator[str]:
    """The invariants that a run breaks, by the names that TrainCheck gives them."""
    words = ["-f", str(trace), "-i", str(invariants), "-o", str(output), "--no-html-report"]
    said = _run("traincheck-check", words, trace.parent)
    summaries = list(output.glob("*/violations_summary.json"))
    if not summaries:
        raise Trouble(f"traincheck-check fails: {_last_words(said)}")
    for summary in summaries:
        for violation in json.loads(summary.read_text(encoding="utf-8"))["violations"]:
            yield violation["display_name"]


def short(source: str) -> str:
    """The program with fewer epochs: of the outermost loops that train, a few rounds."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    training = {"backward", *(f.name for f in functions if "backward(" in ast.unparse(f))}
    inner: set[ast.AST] = set()
    for loop in (node for node in ast.walk(tree) if isinstance(node, ast.For)):
        if loop in inner or not any(f"{name}(" in ast.unparse(loop) for name in training):
            continue
        inner |= set(ast.walk(loop))
        match loop.iter:
            case ast.Call(func=ast.Name(id="range"), args=[rounds]):
                few = ast.parse(f"min({EPOCHS}, {ast.unparse(rounds)})", mode="eval")
                loop.iter.args = [few.body]
    return ast.unparse(tree)


def models(source: str) -> list[str]:
    """The names of the models in a program, which TrainCheck is to be told."""
    tree = ast.parse(source)
    ours = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    names = dict.fromkeys(
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_model(node.value, ours)
        for target in node.targets
        if isinstance(target, ast.Name)
    )
    return list(names)


def _is_model(value: ast.expr, ours: set[str]) -> bool:
    if not isinstance(value, ast.Call):
        return False
    called = ast.unparse(value.func)
    if called in ours or called == "DistributedDataParallel":
        return True
    kind = called.partition("(")[0]
    return kind.startswith("nn.") and kind.count(".") == 1 and not kind.endswith("Loss")


def _run(command: str, words: Sequence[str], folder: Path) -> str:
    """What a step prints. It has a session of its own, so that all of it can be ended."""
    process = subprocess.Popen(
        [str(TRAINCHECK.command(command)), *words],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        return process.communicate(timeout=PATIENCE)[0]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.replace("\r", "\n").splitlines() if line.strip()]
    return lines[-1] if lines else "it says nothing"


def _key(rule: Rule) -> str:
    """Another one whenever the verdict could be another one."""
    programs = bad(rule).source, good(rule).source, str(EPOCHS)
    parts = (*programs, TRAINCHECK.requirement, TRAINCHECK.torch())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _has_key(everything: dict[str, Judged], rule: Rule) -> bool:
    return rule.code in everything and everything[rule.code].key == _key(rule)


def _read() -> dict[str, Judged]:
    if not KEPT.exists():
        return {}
    everything = json.loads(KEPT.read_text(encoding="utf-8"))
    return {code: Judged(**each) for code, each in everything.items()}


def _write(everything: dict[str, Judged]) -> None:
    plain = {code: asdict(judged) for code, judged in sorted(everything.items())}
    KEPT.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if why := TRAINCHECK.why_not():
        sys.exit(f"TrainCheck: {why}")
    measure(SEEN)
