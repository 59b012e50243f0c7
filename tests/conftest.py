"""What every test needs, before torch computes anything."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator

import pytest

from tests import examples

# Some virtual machines tell of an AMX that they do not let anybody use: torch's products of
# bfloat16 die there of an illegal instruction. Without it, they are right everywhere.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")

# Between two operations, torch's threads would spin: on tensors as small as ours that takes many
# times the CPU of the operations, and the more, the busier the machine is. These go to sleep.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# A shell without job control (nohup, some CI) starts what runs in the background with Ctrl-C
# ignored, and each child inherits that. Tests that send it would wait for what never ends.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

examples.load_profiles()

pytest_plugins = ["tests.browser"]


@pytest.fixture(autouse=True, scope="session")
def _cache_of_their_own() -> Iterator[None]:
    """What tests check is not remembered in the cache of whoever runs them."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", folder)
        yield
