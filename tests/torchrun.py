"""What every start by torchrun needs that may restart its ranks."""

from __future__ import annotations

FRESH_STORE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
"""Each start of the ranks has a store of its own.

Otherwise torchrun gives all starts the same one. In it stand the addresses of ranks that are dead,
and gloo takes them for living: most restarts fail then, and some wait for ever.
"""
