"""A run for TensorBoard: what can be drawn over steps, as scalars.

The files are written by hand. What TensorBoard reads is a handful of protobuf fields with a
checksum; the packages that write them bring numpy and protobuf along, and the one by torch, torch.
"""

from gradledger.report.tensorboard.writing import write

__all__ = ["write"]
