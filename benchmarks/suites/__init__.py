"""One module for each benchmark: `results(quick)` measures, and says what it measured."""

NAMES = (
    "correctness",
    "stepper",
    "ranks",
    "auditor",
    "checker",
    "growth",
    "startup",
    "ledger",
    "recording",
    "report",
)
"""In the order in which they are run and told."""
