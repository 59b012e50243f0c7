"""Run a training script and audit every deposit, spend and clear."""

from __future__ import annotations

import argparse

from gradledger.errors import GradledgerError
from gradledger.torch_extra import require_torch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything after `run` belongs to the script."""
    parser.add_argument("script", nargs=argparse.REMAINDER, help="the script and its arguments")


def run(args: argparse.Namespace) -> int:
    """Says what is missing."""
    require_torch("gradledger run")
    raise GradledgerError("this version has no auditor yet. `gradledger --help` lists what it has.")
