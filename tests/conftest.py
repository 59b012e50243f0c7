"""What every test needs, before torch computes anything."""

from __future__ import annotations

import os

# Some virtual machines tell of an AMX that they do not let anybody use: torch's products of
# bfloat16 die there of an illegal instruction. Without it, they are right everywhere.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")
