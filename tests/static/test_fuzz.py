"""Whatever the text, the checker comes to an end, and its answer has the form it promises."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gradledger.rules import CATALOGUE
from gradledger.rules.programs import FOLDER
from gradledger.static import budget
from gradledger.static.check import check_source
from gradledger.static.project.project import Project
from gradledger.static.result import Checked
from gradledger.static.solve.interpreter import Interpreter
from gradledger.static.source.files import Source
from tests.examples import examples
from tests.static.programs import ONE_NET, check

CODES = frozenset(rule.code for rule in CATALOGUE)

FILES = sorted([*FOLDER.glob("*.py"), *(Path(__file__).parents[2] / "examples").glob("*.py")])


def sound(text: str) -> Checked:
    """What the checker says, which must be of the promised form."""
    checked = check(text)
    last = text.count("\n") + text.count("\r") + 1
    for finding in checked.findings:
        assert finding.rule in CODES
        assert finding.certainty in ("certain", "likely", "possible")
        assert finding.at.path == "train.py"
        assert 1 <= finding.at.line <= last
    for unknown in checked.unknown:
        assert unknown.why
        assert 1 <= unknown.line <= last
    assert checked.followed >= 0
    return checked


# Programs that a grammar makes -----------------------------------------------------------------

SIMPLE = st.sampled_from(
    """\
loss = criterion(model(x), y)
loss = loss / n
loss = loss + F.mse_loss(other(x), y)
loss.backward()
loss.backward(retain_graph=True)
(criterion(model(x), y) / n).backward()
criterion(other(model(x).detach()), y).backward()
optimizer.step()
optimizer.step(closure)
optimizer.zero_grad()
optimizer.zero_grad(set_to_none=False)
second.step()
second.zero_grad()
model.zero_grad()
opts["a"].step()
[o.zero_grad() for o in opts.values()]
scaler.scale(loss).backward()
scaler.unscale_(optimizer)
scaler.step(optimizer)
scaler.step(second)
scaler.update()
scheduler.step()
nn.utils.clip_grad_norm_(model.parameters(), 1.0)
torch.autograd.grad(loss, model.parameters())
total += loss
total += loss.item()
losses.append(loss)
hidden = model(hidden)
hidden = hidden.detach()
model = nn.Linear(8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer = None
optimizer, second = second, optimizer
model.requires_grad_(False)
del optimizer
amp = not amp
i += 1
helper(optimizer, loss)
there(x, y)
here()
trainer.fit(x)
self.opt = optimizer
self.opt.step()
p.grad = None
p.grad.mul_(0.5)
pass
break
continue
return loss
raise ValueError(loss)
yield loss
await loss
print(*losses, sep="")
global optimizer
assert loss.backward() is None
x: int = loss.backward()
(z := optimizer).step()
""".splitlines()
)

HEADS = st.sampled_from(
    """\
for x, y in loader:
for i, (x, y) in enumerate(loader):
for epoch in range(epochs):
for p in model.parameters():
for o in (optimizer, second):
for o in [optimizer for _ in range(3)]:
while True:
while i < 100:
if amp:
if not amp:
if (i + 1) % n == 0:
if (i + 1) % n == 0 or i + 1 == len(loader):
if i % n == n - 1:
if i == 7 and not (amp or loss > 3):
if p.grad is not None:
if torch.isfinite(loss):
with torch.no_grad():
with model.no_sync():
with torch.autocast("cuda") as context:
with amp.scale_loss(loss, optimizer) as loss:
with accelerator.accumulate(model):
try:
def here(x=None, y=None):
def there(x, y):
def helper(optimizer, loss, *args, **kwargs):
def closure():
async def here():
class Trainer(Trainer):
class Trainer(Other):
class Other(Trainer):
class Net(L.LightningModule):
def fit(self, x):
def training_step(self, batch, batch_idx):
def configure_optimizers(self):
match amp:
""".splitlines()
)

AFTER = {
    "if": ["else:", "elif amp:"],
    "for": ["else:"],
    "while": ["else:"],
    "try": ["except RuntimeError:", "finally:", "except* OSError:"],
}

PREAMBLE = f"""\
{ONE_NET}
import lightning as L
from data import accelerator, amp, n, trainer

other = nn.Linear(8, 3)
second = torch.optim.Adam(other.parameters())
opts = {{"a": optimizer, "b": second}}
scaler = torch.amp.GradScaler()
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
i, total, losses = 0, 0, []


def there(x, y):
    second.zero_grad()


def helper(optimizer, loss):
    optimizer.step()
"""


TAIL = """
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    there(x, y)
    helper(second, loss)
    optimizer.step()
"""
"""Most programs have gradients by it, and what they define is called."""


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@st.composite
def compound(draw: st.DrawFn, inner: st.SearchStrategy[list[str]]) -> list[str]:
    head = draw(HEADS)
    body = indented(draw(inner)) or ["    pass"]
    if head.startswith("match"):
        return [head, "    case True:", *indented(body), "    case _:", "        pass"]
    lines = [head, *body]
    word = head.split(" ")[0].rstrip(":")
    if word == "try" or (word in AFTER and draw(st.booleans())):
        other = indented(draw(inner)) or ["    pass"]
        lines += [draw(st.sampled_from(AFTER[word])), *other]
    return lines


def block(part: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    return st.lists(part, min_size=1, max_size=5).map(
        lambda parts: [line for part in parts for line in part]
    )


programs = block(
    st.recursive(
        SIMPLE.map(lambda line: [line]), lambda inner: compound(block(inner)), max_leaves=30
    )
).map(lambda lines: PREAMBLE + "\n".join(lines) + TAIL)

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@given(programs)
@settings(examples(120), suppress_health_check=SLOW)  # takes seconds: they are whole programs
def test_any_program_that_a_grammar_makes_is_checked_to_the_end(text: str) -> None:
    sound(text)


@given(programs)
@settings(examples(10), suppress_health_check=SLOW)
def test_the_same_text_always_gets_the_same_answer(text: str) -> None:
    assert sound(text) == sound(text)


# Real files, damaged ---------------------------------------------------------------------------


def damaged(text: str, choice: random.Random) -> str:
    """The text after a few accidents with an editor."""
    lines = text.split("\n")
    for _ in range(choice.randint(1, 6)):
        at = choice.randrange(len(lines))
        match choice.randrange(7):
            case 0:
                del lines[at]
            case 1:
                lines.insert(choice.randrange(len(lines)), lines[at])
            case 2:
                other = choice.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at] = "    " + lines[at]
            case 4:
                lines[at] = lines[at].removeprefix("    ")
            case 5:
                words = lines[at].split(" ")
                choice.shuffle(words)
                lines[at] = " ".join(words)
            case 6:
                lines[at] = lines[at][: choice.randrange(len(lines[at]) + 1)]
        if not lines:
            lines = [""]
    return "\n".join(lines)


@given(st.sampled_from(FILES), st.integers(0, 2**32))
@settings(examples(400), suppress_health_check=SLOW)
def test_any_damage_to_a_real_file_is_survived(path: Path, seed: int) -> None:
    sound(damaged(path.read_text(encoding="utf-8"), random.Random(seed)))


@given(st.text(max_size=200))
@settings(examples(100), suppress_health_check=SLOW)
@example("\0")
@example("\ud800")
@example("optimizer.step(")
@example("\f\v\x1c\u2028optimizer.step()")
def test_any_text_at_all_is_survived(text: str) -> None:
    check_source(Source("train.py", f"import torch\nloss.backward()\n{text}"), Project(()))


# A bound on work -------------------------------------------------------------------------------


@given(programs)
@settings(examples(20), suppress_health_check=SLOW)
def test_no_program_takes_more_work_than_the_bound(text: str) -> None:
    done: list[Interpreter] = []
    with pytest.MonkeyPatch.context() as patch:
        run = Interpreter.run

        def counted(self: Interpreter, program: object) -> object:
            done.append(self)
            return run(self, program)  # type: ignore[arg-type]

        patch.setattr(Interpreter, "run", counted)
        check(text)
    for interpreter in done:
        # The last event may be met by many paths at once.
        assert interpreter.visits <= 2 * budget.MOST_VISITS
        assert interpreter.outcomes <= 2 * budget.MOST_OUTCOMES


TRAIN = """\
for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""


@pytest.mark.slow  # takes long: they are that many
def test_fifty_thousand_lines_are_checked_or_told() -> None:
    checked = sound(ONE_NET + TRAIN * 12_500)
    assert checked.followed or checked.unknown


def test_a_thousand_functions_are_checked_or_told() -> None:
    body = TRAIN.replace("\n", "\n    ").rstrip()
    text = "".join(f"def train_{k}():\n    {body}\n\n" for k in range(1_000))
    checked = sound(ONE_NET + text)
    assert checked.followed + len(checked.unknown) == 1_000


def test_a_long_table_of_data_is_no_trouble() -> None:
    table = "TABLE = [\n" + "    (1, 2.5, 'three', None),\n" * 20_000 + "]\n"
    assert sound(ONE_NET + table + TRAIN).followed == 1


def deep(n: int) -> dict[str, str]:
    """Code of many kinds that is nested n times, as far as Python lets it."""
    some = min(n, 95)
    return {
        "attributes": "x" + ".a" * n + ".backward()",
        "subscripts": "x" + "[0]" * n + ".backward()",
        "chained calls": "loss = loss" + ".mean()" * n,
        "calls": "f(" * some + "loss.backward()" + ")" * some,
        "brackets": "loss = " + "[" * some + "loss" + "]" * some,
        "lambdas": "f = " + "lambda: " * some + "loss.backward()",
        "sums": "loss = " + " + ".join(["loss"] * n),
        "negations": "loss = " + "-" * n + "loss",
        "choices": "loss = " + "criterion(model(1), 2) if amp else " * n + "loss",
        "nots": "if " + "not " * n + "amp:\n    loss.backward()",
        "ifs": "".join(" " * k + "if amp:\n" for k in range(some)) + " " * some + "loss.backward()",
        "elifs": "if x == -1:\n    pass\n"
        + "".join(f"elif x == {k}:\n    loss.backward()\n" for k in range(n)),
        "conditions": f"if {' and '.join(f'a{k}' for k in range(n))}:\n    loss.backward()",
        "contexts": f"with {', '.join(f'a{k}()' for k in range(n))}:\n    loss.backward()",
    }


@pytest.mark.parametrize(
    ("kind", "n"),
    [
        pytest.param(
            kind,
            n,
        )
        for n in (100, 300, 600, 2_000)
        for kind in deep(1)
    ],
)
def test_deep_nesting_is_survived(kind: str, n: int) -> None:
    text = f"{ONE_NET}from data import amp\nloss = criterion(model(1), 2)\n{deep(n)[kind]}\n"
    sound(f"{text}loss.backward()\noptimizer.step()\n")


def test_a_function_too_deep_for_python_is_survived() -> None:
    sound(ONE_NET + "(" * 3_000 + "loss.backward()" + ")" * 3_000)


ENDLESS = {
    "a function calls itself": """
def train(k):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    train(k + 1)
train(0)
""",
    "a class inherits from itself": """
class Trainer(Trainer):
    def train(self):
        self.optimizer.step()
        super().train()
        loss.backward()
Trainer().train()
""",
    "two classes inherit from each other": """
class A(B):
    def train(self):
        self.optimizer.step()
        super().train()
class B(A):
    def train(self):
        loss.backward()
        super().train()
A().train()
""",
    "a name stands for itself": """
optimizer = optimizer
f = f
f(optimizer)
loss.backward()
""",
    "an object holds itself": """
class Box:
    pass
box = Box()
box.box = box
box.optimizer = optimizer
loss.backward()
box.box.box.box.optimizer.step()
""",
    "a list holds itself": """
opts = [optimizer]
opts.append(opts)
for o in opts:
    o.step()
loss.backward()
""",
    "a dict grows in a loop": """
opts = {}
for k in range(epochs):
    opts = {"more": opts, "k": optimizer}
    opts["k"].step()
    loss.backward()
""",
    "a property asks for itself": """
class Trainer:
    @property
    def optimizer(self):
        return self.optimizer
    def train(self):
        loss.backward()
        self.optimizer.step()
Trainer().train()
""",
    "a loss grows in a loop": """
loss = 0
while True:
    loss = loss + loss
    loss = (loss, loss)
    loss[0].backward()
    optimizer.step()
""",
    "a decorator decorates itself": """
@train
def train(f):
    loss.backward()
    optimizer.step()
    return train(f)
""",
    "a function is doubled by each of its callers": "".join(
        f"def f{k}():\n    f{k + 1}()\n    f{k + 1}()\n" for k in range(40)
    )
    + "def f40():\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\nf0()\n",
    "a choice for each of many conditions": "for x, y in loader:\n"
    + "".join(
        f"    if a{k}(x):\n        loss.backward()\n    else:\n        optimizer.zero_grad()\n"
        f"    if b{k}(x):\n        optimizer.step()\n"
        for k in range(30)
    ),
    "loops in loops in loops": "".join(
        " " * k + f"for x{k} in loader:\n" + " " * (k + 1) + "loss.backward()\n" for k in range(18)
    )
    + " " * 18
    + "optimizer.step()\n",
    "many optimizers": "".join(
        f"m{k} = nn.Linear(8, 3)\no{k} = torch.optim.SGD(m{k}.parameters(), lr=1)\n"
        for k in range(40)
    )
    + "for x, y in loader:\n"
    + "".join(f"    m{k}(x).mean().backward()\n    o{k}.step()\n" for k in range(40)),
    "tries in tries": "for x, y in loader:\n"
    + "".join(" " * (k + 1) + "try:\n" + " " * (k + 2) + "loss.backward()\n" for k in range(17))
    + " " * 19
    + "optimizer.step()\n"
    + "".join(
        " " * (k + 1) + "except OSError:\n" + " " * (k + 2) + "optimizer.zero_grad()\n"
        for k in reversed(range(17))
    ),
}


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS.keys())
def test_what_has_no_end_is_left_in_time(text: str) -> None:
    sound(ONE_NET + text)
