"""A run for the Perfetto viewer (ui.perfetto.dev), and whatever else opens Chrome's traces.

In the Trace Event format, which is JSON: Perfetto's own is protobuf, smaller and closed to the eye,
and has nothing that windows, marks and norms need beyond this.
"""

from gradledger.report.perfetto.trace import write

__all__ = ["write"]
