"""What a project wants to see of a check's findings: its configuration, ignores and baseline."""

from __future__ import annotations

from gradledger.ledger.values import Value
from gradledger.policy.configuration import Configuration


class Policy(Value):
    """What the project's file says, and over it the command line, if there is one."""

    kept: frozenset[str]
    """The codes of the rules that are asked about."""
    configured: Configuration
    possible: bool
    baseline: str | None


def policy_of(configured: Configuration) -> Policy:
    """What the project's file alone says."""
    from gradledger.rules.selection import codes

    return Policy(
        kept=codes(select=configured.select, ignore=configured.ignore),
        configured=configured,
        possible=bool(configured.possible),
        baseline=configured.baseline,
    )
