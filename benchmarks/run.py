"""`make bench`: every measurement, one after the other. Ratios are medians of interleaved runs."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import (
    bench_audit,
    bench_check,
    bench_ledger,
    bench_ranks,
    bench_recording,
    bench_report,
    bench_startup,
    bench_stepper,
)

if __name__ == "__main__":
    print(f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}")
    for benchmark in (
        bench_startup,
        bench_check,
        bench_ledger,
        bench_recording,
        bench_report,
        bench_stepper,
        bench_ranks,
        bench_audit,
    ):
        benchmark.main()
