"""Sizes that stand in the source: how many batches a loader has."""

from __future__ import annotations

from gradledger.static.domain.values import Constant, Items, Known, Thing
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.arguments import Arguments

Shape = tuple[int, ...]

CREATORS = frozenset(
    ["randn", "rand", "zeros", "ones", "randint", "empty", "full", "arange", "linspace", "randperm"]
)
DATASETS = frozenset(["TensorDataset"])
SAME = frozenset(
    [
        "sum",
        "mean",
        "long",
        "float",
        "int",
        "bool",
        "argmax",
        "repeat_",
        "clone",
        "detach",
        "to",
        "cuda",
        "double",
        "unsqueeze",
        "squeeze",
        "sign",
        "abs",
        "exp",
        "log",
        "relu",
        "sigmoid",
        "tanh",
        "flatten_",
        "type",
        "view_",
        "half",
    ]
)
"""Methods that keep the number of rows."""

METHODS = SAME | {"flatten", "repeat", "split", "chunk"}


def created(name: str, arguments: Arguments) -> Shape:
    """The shape of what a function of torch makes."""
    numbers = _numbers(arguments.positional)
    if name == "randint":
        shape = next((v for v in arguments.positional if isinstance(v, Items)), None)
        return _numbers(shape.values) if shape is not None else ()
    if name in ("arange", "randperm") and len(arguments.positional) == 1:
        return numbers
    if name in ("arange", "linspace", "full", "randperm"):
        return ()
    if len(arguments.positional) == 1 and isinstance(arguments.positional[0], Items):
        return _numbers(arguments.positional[0].values)
    return numbers if len(numbers) == len(arguments.positional) else ()


def parts(arguments: Arguments) -> Shape:
    """How many rows each part of a `random_split` has, where they are given as numbers."""
    lengths = arguments.get(1, "lengths")
    return _numbers(lengths.values) if isinstance(lengths, Items) else ()


def cut(name: str, shape: Shape, arguments: Arguments) -> Shape:
    """Into how many pieces `split(rows)` or `chunk(pieces)` cuts the rows."""
    number = _number(arguments.positional[0]) if len(arguments.positional) == 1 else None
    if not shape or not number or number < 0 or arguments.named:
        return ()
    each = number if name == "split" else -(-shape[0] // number)
    return (-(-shape[0] // each),) if each else ()


def batched(rows: Shape, arguments: Arguments) -> Shape:
    """How many batches a DataLoader has that is given so many rows."""
    size = arguments.get(1, "batch_size")
    if not rows or "sampler" in arguments.named or "batch_sampler" in arguments.named:
        return ()
    per_batch = 1 if size is None else _number(size)
    if not per_batch:
        return ()
    dropped = arguments.named.get("drop_last") == Constant.of(True)
    return (rows[0] // per_batch if dropped else -(-rows[0] // per_batch),)


def sliced(shape: Shape, index: ast.expr, value: Known) -> Shape:
    """The shape of a part."""
    if not shape:
        return ()
    if isinstance(index, ast.Slice):
        start, stop = _bound(index.lower, 0), _bound(index.upper, shape[0])
        if start is None or stop is None or index.step is not None:
            return ()
        return (len(range(*slice(start, stop).indices(shape[0]))), *shape[1:])
    if isinstance(index, ast.Tuple) and index.elts and isinstance(index.elts[0], ast.Slice):
        return sliced(shape[:1], index.elts[0], value)
    picked = shape_of(value)
    return (*picked, *shape[1:]) if picked else ()


def flattened(shape: Shape, arguments: Arguments) -> Shape:
    """The shape after `flatten(start, end)`."""
    numbers = _numbers(arguments.positional)
    if not shape or len(numbers) != len(arguments.positional):
        return ()
    start = numbers[0] if numbers else 0
    end = numbers[1] if len(numbers) > 1 else len(shape) - 1
    product = 1
    for size in shape[start : end + 1]:
        product *= size
    return (*shape[:start], product, *shape[end + 1 :])


def repeated(shape: Shape, arguments: Arguments) -> Shape:
    """The shape after `repeat(n)`."""
    numbers = _numbers(arguments.positional)
    return (shape[0] * numbers[0],) if len(shape) == 1 and len(numbers) == 1 else ()


def shape_of(value: Known | None) -> Shape:
    """The shape, if it is known."""
    return value.shape if isinstance(value, Thing) else ()


def _numbers(values: tuple[Known, ...]) -> Shape:
    found = [_number(value) for value in values]
    return tuple(n for n in found if n is not None) if None not in found else ()


def _number(value: Known) -> int | None:
    known = value.value if isinstance(value, Constant) else None
    return known if isinstance(known, int) and not isinstance(known, bool) else None


def _bound(node: ast.expr | None, default: int) -> int | None:
    if node is None:
        return default
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    return None
