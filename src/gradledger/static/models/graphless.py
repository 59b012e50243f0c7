"""What of torch has no graph, whatever it is computed from: counts, places, truths."""

from __future__ import annotations

from gradledger.static.domain.values import External, Known
from gradledger.static.source.patterns import Pattern

_ASKED = ("item", "numpy", "tolist", "size", "dim", "numel", "nelement", "shape", "data_ptr")
_PLACES = (
    *("argmax", "argmin", "argsort", "argwhere", "nonzero", "searchsorted", "bucketize"),
    *("topk_indices", "unique"),
)
_DRAWN = ("multinomial", "bernoulli")
_COUNTS = ("count_nonzero", "bincount", "histc", "one_hot", "max_memory_allocated")
_TRUTHS = (
    *("eq", "ne", "gt", "lt", "ge", "le", "not_equal", "greater", "less", "greater_equal"),
    *("less_equal", "equal", "allclose", "isclose", "isin", "isnan", "isfinite", "isinf"),
    *("isposinf", "isneginf", "isreal", "signbit", "any", "all", "is_contiguous"),
    *("logical_and", "logical_or", "logical_xor", "logical_not"),
)
_WHOLE_NUMBERS = ("long", "int", "short", "byte", "char", "bool")
_MADE_ANEW = ("new_zeros", "new_ones", "new_full", "new_empty", "new_tensor")

DETACHING = frozenset(
    [
        *("detach", "detach_", "backward_", "astype", "to_numpy", "get_device", "element_size"),
        *(*_ASKED, *_PLACES, *_DRAWN, *_COUNTS, *_TRUTHS, *_WHOLE_NUMBERS, *_MADE_ANEW),
    ]
)
"""Methods of a tensor, and functions of torch, whose result has no graph. What rounds has one."""

CHOICES = Pattern(rf"\b(?:{'|'.join((*_PLACES, *_DRAWN))})\(", words=(*_PLACES, *_DRAWN))
"""Words of functions that choose: what they give may be no more than the choice."""

WITH_INDICES = frozenset(
    ["max", "min", "sort", "topk", "median", "mode", "kthvalue", "cummax", "cummin"]
)
"""Functions that give values, and where these were found."""

_WHOLE = frozenset([*_WHOLE_NUMBERS, "int64", "int32", "int16", "int8", "uint8"])


def is_of_whole_numbers(kind: Known) -> bool:
    """Is it a type of numbers that have no gradients: `torch.long`, `torch.LongTensor`?"""
    if not isinstance(kind, External) or not kind.dotted.startswith("torch."):
        return False
    return kind.dotted.rpartition(".")[2].removesuffix("Tensor").lower() in _WHOLE
