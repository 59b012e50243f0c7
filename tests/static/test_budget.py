"""Every bound is in budget.py, says what it bounds, and is read from there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from gradledger.static import budget

FOLDER = Path(budget.__file__).parent
BOUNDS = [name for name in vars(budget) if name.isupper()]
PRICES = ("SET_OTHERWISE", "SELDOM", "CHOSEN", "USUAL", "NEVER_MEANT")
NO_BOUNDS = {
    ("runner/file_work.py", "_CALLING"),  # an estimate
    ("source/relevance.py", "_TRAINING"),  # an estimate
    ("runner/processes.py", "_HEAD"),  # a format
    ("adopt/options.py", "LONGEST_LINE"),  # a style
    ("lower/gradient_functions.py", "HUGE"),  # what people write
    ("solve/small_steps.py", "LATER"),  # rounds that are told apart
    ("solve/witness.py", "UNSURE"),  # a price
    *(("certainty/assumptions.py", price) for price in PRICES),
}


def modules() -> dict[str, str]:
    found = {str(path.relative_to(FOLDER)): path for path in sorted(FOLDER.rglob("*.py"))}
    return {name: path.read_text(encoding="utf-8") for name, path in found.items()}


def test_no_other_file_has_a_bound_of_its_own() -> None:
    found = set()
    for name, text in modules().items():
        for statement in ast.parse(text).body if name != "budget.py" else ():
            match statement:
                case ast.Assign([ast.Name(id=constant)], ast.Constant(int() | float() as value)):
                    if not isinstance(value, bool):
                        found.add((name, constant))
                case ast.Assign([ast.Name(id=constant)], ast.BinOp(ast.Constant(), _, _)):
                    found.add((name, constant))
    assert found == NO_BOUNDS


def test_each_bound_says_what_it_bounds_and_what_is_beyond() -> None:
    lines = (FOLDER / "budget.py").read_text(encoding="utf-8").splitlines()
    for name in BOUNDS:
        (line,) = (line for line in lines if line.startswith(f"{name} = "))
        assert re.search(r"  # \w", line), name


def test_each_bound_is_read_where_it_is_kept() -> None:
    text = "\n".join(modules().values())
    assert [name for name in BOUNDS if not re.search(rf"\bbudget\.{name}\b", text)] == []
