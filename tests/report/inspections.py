"""What a check may have to say."""

from __future__ import annotations

from gradledger.ledger import Evidence, Finding, Place
from gradledger.ledger.findings import WitnessStep
from gradledger.ledger.values import replace
from gradledger.report.inspection import Inspection, NotChecked, Suppressed, Unknown

TRAIN = """\
def train(model, loader, optimizer):
    for x, y in loader:
        größe = len(x); loss_fn(model(x), y).backward()
        optimizer.step()


def evaluate(model):
    ...
"""
CELL = """\
for i, x in enumerate(loader):
    loss(x).backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
NOTEBOOK = "notes/nb.ipynb:cell 3"

DEPOSIT = Place("train.py", 3, len("    größe = 1234567; ".encode()))
STEP = Place("train.py", 4, 8)
REUSED = Finding(
    "GL101",
    STEP,
    "spends 2 deposits, 1 of them spent before",
    "certain",
    (Evidence("deposited", DEPOSIT), Evidence("cleared", None, "never")),
    witness=tuple(
        WitnessStep(what, at, f"iteration {number}")
        for number in (1, 2)
        for what, at in (("deposited", DEPOSIT), ("spent", STEP))
    ),
    assumptions=("`log(optimizer)` leaves the gradients alone", "the loop runs at least twice"),
)
LEFT_OVER = Finding(
    "GL203",
    Place(NOTEBOOK, 2, 4),
    "may leave deposits unspent when the data ends",
    "likely",
    (Evidence("spent", Place(NOTEBOOK, 4, 8)), Evidence("made", Place("train.py", 1))),
    witness=(
        WitnessStep("deposited", Place(NOTEBOOK, 2, 4)),
        WitnessStep("ended", Place(NOTEBOOK, 1, via=Place("train.py", 1))),
    ),
    assumptions=("only with `--accum` above 1; its default is 1",),
)
WASTED = Finding("GL204", Place("gan.py", 9), "clears what nobody uses", "certain")


def much() -> Inspection:
    """Findings in a file and in a notebook, and something of everything else."""
    return Inspection(
        subject="train.py notes",
        findings=(REUSED, LEFT_OVER),
        sources={"train.py": TRAIN, NOTEBOOK: CELL},
        unknown=(
            Unknown("train.py", 7, "evaluate", "calls itself"),
            Unknown(NOTEBOOK, 1, "the notebook", "too many paths"),
        ),
        suppressed=(Suppressed(WASTED, Place("gan.py", 3), "the discriminator is small"),),
        not_checked=(NotChecked("old.py", 1, "it looks like Python 2"),),
        files=41,
        followed=57,
        baselined=3,
        unshown=2,
        seconds=0.25,
    )


def only_an_info() -> Inspection:
    return Inspection("gan.py", (WASTED,), files=1, followed=2)


def nothing_found() -> Inspection:
    return Inspection("src", files=41, followed=57)


def half_understood() -> Inspection:
    return replace(nothing_found(), unknown=much().unknown)


def not_understood() -> Inspection:
    return replace(half_understood(), followed=0)


def without_gradients() -> Inspection:
    return Inspection("src", files=1_041)


def without_files() -> Inspection:
    return Inspection("docs")
