"""What cures a fault inside a framework, in the words of that framework.

"Divide the loss" can't be done where the Trainer calls `backward`: what can be done there is here.
"""

from __future__ import annotations

from gradledger.ledger.findings import CURE, Evidence, Finding
from gradledger.ledger.values import replace
from gradledger.rules.catalogue import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradledger.ledger.places import Place

PACKAGES = {
    "transformers": "transformers",
    "lightning": "lightning",
    "pytorch_lightning": "lightning",
    "accelerate": "accelerate",
    "ignite": "ignite",
    "deepspeed": "deepspeed",
}
"""Which framework an installed package belongs to."""

_INSTALLED = ("site-packages", "dist-packages")
_DROP_LAST = (
    "set drop_last=True in the DataLoader, and choose {} so that it divides the number of batches"
)

CURES: dict[str, dict[str, str]] = {
    "transformers": {
        "GL101": "leave zero_grad() to the Trainer, which clears after each step",
        "GL201": "leave zero_grad() to the Trainer, which clears after each step",
        "GL301": (
            'sum the loss over items (reduction="sum") and divide it by num_items_in_batch, or set '
            "trainer.model_accepts_loss_kwargs = False so that the Trainer divides"
        ),
        "GL302": (
            "set dataloader_drop_last=True, or sum the loss over items and divide it by "
            "num_items_in_batch"
        ),
        "GL303": (
            "return the loss undivided: the Trainer divides it by gradient_accumulation_steps"
        ),
        "GL401": "set max_grad_norm, and leave the clip to the Trainer",
        "GL501": "set max_grad_norm, and leave the clip to the Trainer",
        "GL502": "set max_grad_norm, and leave the clip to the Trainer",
        "GL504": "pass the scheduler to the Trainer: optimizers=(optimizer, scheduler)",
        "GL901": "mend what makes the loss non-finite, in compute_loss or in the model's forward",
    },
    "lightning": {
        "GL101": "let optimizer_zero_grad clear, as it does where it is not overridden",
        "GL201": (
            "leave zero_grad() to Lightning, which clears before the first batch of each window"
        ),
        "GL302": _DROP_LAST.format("accumulate_grad_batches"),
        "GL303": (
            "return the loss undivided from training_step: Lightning divides it by "
            "accumulate_grad_batches"
        ),
        "GL401": "set gradient_clip_val in the Trainer, which clips once per window, unscaled",
        "GL502": "set gradient_clip_val in the Trainer, which clips once per window, unscaled",
        "GL901": "mend what makes the loss non-finite; Trainer(detect_anomaly=True) finds it",
    },
    "accelerate": {
        "GL201": "call zero_grad() of the prepared optimizer, which does nothing inside a window",
        "GL301": ("call accelerator.backward(loss), which divides by gradient_accumulation_steps"),
        "GL302": _DROP_LAST.format("gradient_accumulation_steps"),
        "GL303": (
            "give the loss undivided to accelerator.backward, which divides it by "
            "gradient_accumulation_steps"
        ),
        "GL401": "clip with accelerator.clip_grad_norm_, which unscales first",
        "GL502": "clip only where accelerator.sync_gradients is true",
        "GL504": (
            "prepare the scheduler with accelerator.prepare, and make its schedule num_processes "
            "times as long, or set split_batches=True"
        ),
    },
    "ignite": {
        "GL302": _DROP_LAST.format("gradient_accumulation_steps"),
        "GL303": (
            "return the loss undivided from loss_fn: the trainer divides it by "
            "gradient_accumulation_steps"
        ),
    },
    "deepspeed": {
        "GL303": (
            "give the loss undivided to engine.backward, which divides it by "
            "gradient_accumulation_steps"
        ),
    },
}
"""For a framework and a rule, an order that can be followed: starts lower case, no full stop."""


def cured(finding: Finding, frameworks: Mapping[Place, str]) -> Finding:
    """With the cure that can be done there, if a framework or a library is in between.

    `frameworks` tells which one makes or divides the passes at a place of the program's.
    """
    cure = _cure(finding, frameworks)
    return (
        replace(finding, evidence=(*finding.evidence, Evidence(CURE, None, cure)))
        if (cure and not finding.cure)
        else finding
    )


def _cure(finding: Finding, frameworks: Mapping[Place, str]) -> str:
    places = (finding.at, *(e.at for e in finding.evidence if e.at is not None))
    for place in places:
        framework = frameworks.get(place) or next(
            filter(None, (PACKAGES.get(_package(p.path)) for p in place.way)), ""
        )
        if cure := CURES.get(framework, {}).get(finding.rule):
            return cure
    package = _package(finding.at.path)
    return f"in {package}'s own code, {find(finding.rule).fix}" if package else ""


def _package(path: str) -> str:
    """The installed package that a file belongs to; empty where it belongs to none."""
    parts = path.replace("\\", "/").split("/")
    for folder in _INSTALLED:
        if folder in parts[:-1]:
            return parts[parts.index(folder) + 1].removesuffix(".py")
    return ""


def fix(finding: Finding) -> str:
    """What cures it: what the rule says, or what can be done in the framework that it is in."""
    return finding.cure or find(finding.rule).fix
