"""The Stepper: a training step that deposits, spends and clears in the right order."""

from gradledger.engine.passes import Pass
from gradledger.engine.plan import Plan
from gradledger.engine.skips import Skip
from gradledger.engine.stepper import Stepper

__all__ = ["Pass", "Plan", "Skip", "Stepper"]
