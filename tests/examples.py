"""How many examples a property is tried with.

`make test` tries few and `make test-slow` many: each names its profile of hypothesis. Where none is
named, they are few.
"""

from __future__ import annotations

from hypothesis import settings


def load_profiles() -> None:
    """Let `--hypothesis-profile` know both, and be quick without it."""
    settings.register_profile("thorough", deadline=None, max_examples=100)
    settings.register_profile("quick", deadline=None, max_examples=20)
    settings.load_profile("quick")


def examples(many: int) -> settings:
    """So many examples where tests are thorough, and a fifth of them where they are quick.

    A property without this is tried with a hundred or twenty.
    """
    return settings(max_examples=max(many * settings().max_examples // 100, 1))
