"""New processes that have torch already: to load it takes longer than most programs do."""

from __future__ import annotations

import multiprocessing

PROCESSES = multiprocessing.get_context("forkserver")
"""Each is a fork of one process, which loads these for the first and does nothing else."""
PROCESSES.set_forkserver_preload(["torch._dynamo", "gradledger.runtime.audit"])
