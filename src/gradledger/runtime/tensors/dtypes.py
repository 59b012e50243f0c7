"""Kinds of numbers."""

from __future__ import annotations

import torch

LOW_PRECISION = (torch.bfloat16, torch.float16)
