"""The dtypes of low precision, in which sums lose small addends."""

from __future__ import annotations

import torch

LOW_PRECISION = (torch.bfloat16, torch.float16)
