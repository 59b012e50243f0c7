from __future__ import annotations

from importlib import import_module

# pytester forgets the modules that its runs load. These do not bear being loaded twice: torch
# registers its own once, and two copies of ours would not know each other.
for _name in (
    "torch._dynamo",  # the first optimizer loads it
    "gradledger.integrations.pytest_auditor",
    "gradledger.report.text",
    "gradledger.runtime.audit",
    "gradledger.torch_extra",
):
    import_module(_name)
