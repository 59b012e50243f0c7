"""Code that is spread over the files of a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.static.programs import ONE_NET, check_file, finds, shown

TRAINER = """\
import torch


class Trainer:
    def __init__(self, net):
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters())

    def before(self):
        {clear}

    def fit(self, data):
        for batch in data:
            self.before()
            self.loss(batch).backward()
            self.optimizer.step()
"""

SUBCLASS = """\
import torch
from torch import nn

from {where} import Trainer


class Classifier(Trainer):
    def loss(self, batch):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)


def main(loader):
    Classifier(nn.Linear(8, 3)).fit(loader)
"""


def project(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def places(folder: Path) -> set[tuple[str, str, int]]:
    """Rules, and files and lines where they are broken, in all the files of a project."""
    found = set()
    for path in sorted(folder.rglob("*.py")):
        checked = check_file(path, folder)
        lines = shown(checked)
        for finding in checked.findings:
            if (finding.rule, finding.at.line) in lines:
                found.add((finding.rule, Path(finding.at.path).name, finding.at.line))
    return found


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("trainer.py", "trainer"),
        ("lib/trainer.py", "lib.trainer"),
        ("lib/trainer.py", ".lib.trainer"),
    ],
)
def test_a_base_class_in_another_file_is_followed(tmp_path: Path, name: str, where: str) -> None:
    files = {"lib/__init__.py": "", "main.py": SUBCLASS.format(where=where)}
    project(tmp_path, {**files, name: TRAINER.format(clear="self.optimizer.zero_grad()")})
    assert places(tmp_path) == set()
    project(tmp_path, {name: TRAINER.format(clear="pass")})
    assert places(tmp_path) == {("GL101", "trainer.py", 16)}


def test_a_helper_in_another_file_clears(tmp_path: Path) -> None:
    helper = "def reset(optimizer):\n    optimizer.zero_grad()\n"
    main = """\
import torch
from torch import nn

from helpers import reset
from data import loader

model = nn.Linear(8, 3)
optimizer = torch.optim.Adam(model.parameters())
for x, y in loader:
    reset(optimizer)
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
    project(tmp_path, {"helpers.py": helper, "main.py": main})
    assert places(tmp_path) == set()
    project(tmp_path, {"helpers.py": "def reset(optimizer):\n    print(optimizer)\n"})
    assert places(tmp_path) == {("GL101", "main.py", 12)}


def test_a_package_may_hand_a_name_on(tmp_path: Path) -> None:
    files = {
        "lib/__init__.py": "from .trainer import Trainer\n",
        "lib/trainer.py": TRAINER.format(clear="pass"),
        "main.py": SUBCLASS.format(where="lib"),
    }
    project(tmp_path, files)
    assert places(tmp_path) == {("GL101", "trainer.py", 16)}


def test_no_file_imports_itself(tmp_path: Path) -> None:
    files = {
        "utils/model.py": """\
from torch import nn

from model import ScheduledOptim


def get_model():
    net = nn.Linear(8, 3)
    return net, ScheduledOptim(net)
""",
        "model/__init__.py": "from .optimizer import ScheduledOptim\n",
        "model/optimizer.py": """\
import torch


class ScheduledOptim:
    def __init__(self, net):
        self.inner = torch.optim.Adam(net.parameters())

    def step_and_update(self):
        self.inner.step()
""",
        "train.py": """\
import torch

from utils.model import get_model


def main(loader):
    net, optimizer = get_model()
    for x in loader:
        net(x).mean().backward()
        optimizer.step_and_update()
""",
    }
    project(tmp_path, files)
    assert places(tmp_path) == {("GL101", "optimizer.py", 9)}


def test_a_module_is_a_name_with_members(tmp_path: Path) -> None:
    main = """\
import torch
from torch import nn

import engine
from data import loader

model = nn.Linear(8, 3)
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(3):
    engine.train_epoch(model, optimizer, loader)
"""
    engine = """\
import torch


def train_epoch(model, optimizer, loader):
    for x, y in loader:
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
"""
    project(tmp_path, {"main.py": main, "engine.py": engine})
    assert places(tmp_path) == {("GL101", "engine.py", 7)}
    cleared = engine.replace("        torch", "        optimizer.zero_grad()\n        torch")
    project(tmp_path, {"engine.py": cleared})
    assert places(tmp_path) == set()


def test_files_that_import_each_other_come_to_an_end(tmp_path: Path) -> None:
    text = """\
import torch
from {other} import update as go_on


def update(optimizer, loss, depth=0):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    go_on(optimizer, loss, depth + 1)
"""
    project(tmp_path, {"a.py": text.format(other="b"), "b.py": text.format(other="a")})
    checked = check_file(tmp_path / "a.py")
    assert checked.unknown
    assert shown(checked) == set()


def test_names_that_are_handed_on_in_a_circle_come_to_an_end(tmp_path: Path) -> None:
    main = "import torch\nfrom a import train\n\ntrain(1).backward()\ntrain(2).step()\n"
    files = {"a.py": "from b import train\n", "b.py": "from a import train\n", "main.py": main}
    project(tmp_path, files)
    assert shown(check_file(tmp_path / "main.py")) == set()


def test_classes_that_inherit_from_each_other_come_to_an_end(tmp_path: Path) -> None:
    text = """\
import torch
from {other} import {base}


class {name}({base}):
    def train(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        super().train(loss)
"""
    files = {
        "a.py": text.format(other="b", base="B", name="A"),
        "b.py": text.format(other="a", base="A", name="B"),
    }
    project(tmp_path, files)
    assert shown(check_file(tmp_path / "a.py")) == set()


def test_a_file_of_the_project_that_is_no_python_is_as_good_as_missing(tmp_path: Path) -> None:
    project(tmp_path, {"main.py": SUBCLASS.format(where="trainer"), "trainer.py": "class (\n"})
    assert shown(check_file(tmp_path / "main.py")) == set()


@pytest.mark.parametrize("imported", [True, False])
@pytest.mark.parametrize("window", [1, 4])
def test_a_file_beside_says_how_large_windows_are(
    tmp_path: Path, window: int, imported: bool
) -> None:
    (tmp_path / "config.py").write_text(f'CONFIG = {{"window": {window}}}\nseed = 3\n')
    engine = tmp_path / "engine.py"
    first = "from config import seed\n\ntorch.manual_seed(seed)" if imported else ""
    engine.write_text(f"""
import torch
{first}

def fit(net, one, data, epochs, config):
    for epoch in range(epochs):
        for i, (x, y) in enumerate(data):
            (net(x, y).mean() / config["window"]).backward()
            if (i + 1) % config["window"] == 0:
                one.step()
                one.zero_grad()
""")
    found = {rule for rule, _ in shown(check_file(engine))}
    assert found == (set() if window == 1 else {"GL203"})


def test_a_meter_in_another_file_keeps_what_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "meters.py").write_text("""
class AverageMeter:
    def __init__(self):
        self.sum = 0.0

    def update(self, value):
        self.sum += value
""")
    train = tmp_path / "train.py"
    train.write_text(f"""{ONE_NET}
from meters import AverageMeter

losses = AverageMeter()
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    losses.update(loss)
""")
    assert {rule for rule, _ in shown(check_file(train))} == {"GL701"}


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize(
    ("wanted", "name"),
    [("from sizes import window", "window"), ("import sizes as s", "s.window")],
)
def test_a_file_that_is_imported_says_how_large_windows_are(
    tmp_path: Path, size: int, wanted: str, name: str
) -> None:
    (tmp_path / "sizes.py").write_text(f"window = {size}\n")
    train = tmp_path / "train.py"
    train.write_text(f"""{ONE_NET}
{wanted}

for epoch in range(epochs):
    for i, (x, y) in enumerate(loader):
        criterion(model(x), y).backward()
        if (i + 1) % {name} == 0:
            optimizer.step()
            optimizer.zero_grad()
""")
    found = {rule for rule, _ in shown(check_file(train))}
    assert ("GL203" in found) is (size > 1)


def test_a_file_that_only_reads_gradients_is_followed(tmp_path: Path) -> None:
    reader = tmp_path / "reader.py"
    program = tmp_path / "train.py"
    text = f"""{ONE_NET}
from reader import remember

for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    remember(model)
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""
    program.write_text(text, encoding="utf-8")
    reader.write_text(
        "def remember(net):\n    return [p.grad.clone() for p in net.parameters()]\n",
        encoding="utf-8",
    )
    assert shown(check_file(program)) == set()
    reader.write_text(
        "def remember(net):\n    return [p.clone() for p in net.parameters()]\n", encoding="utf-8"
    )
    second_clear = 2 + text.splitlines().index("    remember(model)")
    assert finds(check_file(program), {("GL201", second_clear)})


FREEZING = """\
class Base:
    def set_requires_grad(self, nets, flag=False):
        if not isinstance(nets, list):
            nets = [nets]
        for net in nets:
            for p in net.parameters():
                p.requires_grad = flag
"""

FROZEN_JUDGES = """\
import torch
from torch import nn

from base import Base


class Pair(Base):
    def __init__(self, extra):
        self.extra = extra
        self.maker, self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
        self.opt_g = torch.optim.Adam(self.maker.parameters())
        judges = list(self.one.parameters()) + list(self.other.parameters())
        self.opt_d = torch.optim.Adam(judges)

    def walk_maker(self, x):
        more = (self.maker(x) - x).abs().mean() if self.extra > 0 else 0
        (self.one(self.fake).mean() + self.other(self.fake).mean() + more).backward()

    def walk_judge(self, judge, x):
        (judge(self.fake.detach()).mean() - judge(x).mean()).backward()

    def update(self, x):
        self.fake = self.maker(x)
        {freeze}
        self.opt_g.zero_grad()
        self.walk_maker(x)
        self.opt_g.step()
        self.set_requires_grad([self.one, self.other], True)
        self.opt_d.zero_grad()
        self.walk_judge(self.one, x)
        self.walk_judge(self.other, x)
        self.opt_d.step()
"""


@pytest.mark.parametrize("frozen", [True, False])
def test_a_helper_may_ask_whether_it_was_given_a_list(tmp_path: Path, frozen: bool) -> None:
    freeze = "self.set_requires_grad([self.one, self.other], False)" if frozen else "pass"
    project(tmp_path, {"base.py": FREEZING, "pair.py": FROZEN_JUDGES.format(freeze=freeze)})
    assert places(tmp_path) == (set() if frozen else {("GL204", "pair.py", 29)})
