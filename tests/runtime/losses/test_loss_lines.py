from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from types import CodeType

import pytest

from gradledger.runtime.losses.loss_lines import loss_line
from gradledger.runtime.program.source_files import Source


def named(tmp_path: Path, body: str) -> str:
    """The line that is named for a function with this body."""
    text = "def training_step(self, batch):\n" + "".join(
        f"    {line}\n" for line in dedent(body).strip().splitlines()
    )
    path = tmp_path / "module.py"
    path.write_text(text)
    constants = compile(text, str(path), "exec").co_consts
    code = next(constant for constant in constants if isinstance(constant, CodeType))
    return text.splitlines()[loss_line(Source(str(path)), code).line - 1].strip()


CERTAIN = {
    "straight": (
        """
        loss = mse(batch)
        self.log(loss)
        return loss
        """,
        "loss = mse(batch)",
    ),
    "through another name": (
        """
        total = mse(batch)
        loss = total
        return {"loss": loss}
        """,
        "total = mse(batch)",
    ),
    "made in front of a branch that leaves it alone": (
        """
        loss = mse(batch)
        if self.verbose:
            print(loss)
        return loss
        """,
        "loss = mse(batch)",
    ),
    "returned in one branch with what else there is": (
        """
        loss = mse(batch)
        if outputs:
            return loss, outputs
        return loss
        """,
        "loss = mse(batch)",
    ),
    "nothing is returned in the other branch": (
        """
        if batch is None:
            return None
        loss = mse(batch)
        return loss
        """,
        "loss = mse(batch)",
    ),
    "made and returned in the same branch": (
        """
        if batch is not None:
            loss = mse(batch)
            return loss
        return None
        """,
        "loss = mse(batch)",
    ),
    "in a loop": (
        """
        loss = 0
        for part in batch:
            loss = loss + mse(part)
        return loss
        """,
        "loss = loss + mse(part)",
    ),
    "in a with": (
        """
        with autocast():
            loss = mse(batch)
        return loss
        """,
        "loss = mse(batch)",
    ),
    "in a try that ends the function otherwise": (
        """
        try:
            loss = mse(batch)
        except ValueError:
            return None
        return loss
        """,
        "loss = mse(batch)",
    ),
}
UNCERTAIN = {
    "two branches": (
        """
        if self.first:
            loss = mse(batch)
        else:
            loss = mae(batch)
        return loss
        """,
        "return loss",
    ),
    "replaced in one branch": (
        """
        loss = mse(batch)
        if self.first:
            loss = mae(batch)
        self.log(loss)
        return loss
        """,
        "return loss",
    ),
    "through another name, behind the branches": (
        """
        if self.first:
            one = mse(batch)
        else:
            one = mae(batch)
        loss = one
        return loss
        """,
        "loss = one",
    ),
    "two cases": (
        """
        match self.kind:
            case 1:
                loss = mse(batch)
            case _:
                loss = mae(batch)
        return loss
        """,
        "return loss",
    ),
    "in a try that goes on otherwise": (
        """
        loss = mae(batch)
        try:
            loss = mse(batch)
        except ValueError:
            self.log("bad")
        return loss
        """,
        "return loss",
    ),
    "two returns": (
        """
        if self.first:
            return mse(batch)
        return mae(batch)
        """,
        "def training_step(self, batch):",
    ),
    "made and returned in each branch": (
        """
        if self.first:
            loss = mse(batch)
            return loss
        else:
            loss = mae(batch)
            return loss
        """,
        "def training_step(self, batch):",
    ),
    "nothing at all": ("pass", "def training_step(self, batch):"),
}


@pytest.mark.parametrize("story", CERTAIN | UNCERTAIN)
def test_only_a_line_that_has_run_is_named(story: str, tmp_path: Path) -> None:
    body, line = (CERTAIN | UNCERTAIN)[story]
    assert named(tmp_path, body) == line
