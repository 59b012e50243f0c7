"""What a file imports, by a look at its bytes."""

from __future__ import annotations

from gradledger.ledger.tuples import NamedTuple
from gradledger.static import budget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_IMPORT = b"import "


class Imported(NamedTuple):
    """One statement: `from ..module import name as alias`, or a part of `import module`."""

    level: int
    module: str
    names: tuple[tuple[str, str], ...] = ()
    """Each with how it is called here; empty where it is the module itself that is imported."""
    alias: str = ""


def import_lines(data: bytes) -> str:
    """The lines that import something, and no others, as far as a look can tell."""
    data = data[: budget.IMPORT_BYTES]
    lines = []
    at = data.find(_IMPORT)
    while at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        end = len(data) if end < 0 else end
        line = data[start:end]
        if b"(" in line and b")" not in line:
            end = data.find(b")", end)
            end = len(data) if end < 0 else end
            line = data[start:end].replace(b"\n", b" ")
        elif line.rstrip().endswith(b"\\"):
            after = data.find(b"\n", end + 1)
            end = len(data) if after < 0 else after
            line = data[start:end].replace(b"\n", b" ").replace(b"\\", b" ")
        lines.append(line)
        at = data.find(_IMPORT, end)
    return b"\n".join(lines).decode("utf-8", "replace")


def first_imported(line: str) -> list[str]:
    """The first parts of the modules that a line imports; empty where one begins with a dot."""
    words = line.lstrip(' \t"').split()
    several = words[1:] if words[:1] == ["import"] else words[1:2]
    return [word.strip(",").partition(".")[0] for word in several]


def imported(lines: str) -> Iterator[Imported]:
    """What these lines import. In a notebook, a line of code begins with a quote."""
    for line in lines.split("\n"):
        words = line.partition("#")[0].strip(' \t\r",').removesuffix("\\n")
        words = words.replace("(", " ").replace(")", " ").replace("\t", " ")
        head, _, rest = words.partition(" ")
        if head == "from":
            module, found, names = rest.partition(" import ")
            module = module.strip()
            bare = module.lstrip(".")
            if found and (bare or module):
                yield Imported(len(module) - len(bare), bare, tuple(_names(names)))
        elif head == "import":
            for module, alias in _names(rest):
                yield Imported(0, module, (), alias)


def _names(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split(","):
        words = part.split()
        if words:
            yield words[0], words[2] if len(words) == 3 and words[1] == "as" else words[0]
