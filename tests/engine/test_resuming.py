"""Saved anywhere, resumed elsewhere: bit for bit the run that was never interrupted (row g)."""

from __future__ import annotations

import copy
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim
from torch.amp import GradScaler
from torch.optim.lr_scheduler import OneCycleLR, StepLR

from gradledger import Stepper
from gradledger.errors import CheckpointError
from tests.tiers import slow_but_some

from .loops import assert_equal
from .programs.runs import BATCHES, CASES, MANY_PROCESSES, Net, Run, listed, loader, make

ROOT = Path(__file__).parents[2]


def save_everywhere(run: Run, folder: Path) -> list[Path]:
    """Runs to the end, and saves before, after each micro-batch, and between epochs.

    Not before, where the data has a generator of its own: the Stepper has not seen the data yet.
    """
    saved: list[Path] = []

    def save(run: Run, n: int) -> None:
        saved.append(folder / f"after {n}")
        run.stepper.save(saved[-1])

    if getattr(run.data, "generator", None) is None:
        save(run, 0)
    run.go(save)
    return saved


# Anywhere -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", slow_but_some(3, CASES))
def test_a_run_resumed_from_any_save_ends_bit_for_bit_as_if_never_interrupted(
    case: str, tmp_path: Path
) -> None:
    expected = CASES[case](0).go().outcome()
    saving = CASES[case](0)
    saved = save_everywhere(saving, tmp_path)
    assert_equal(saving.outcome(), expected, "saving changes nothing: ")
    assert len(saved) > BATCHES
    for seed, path in enumerate(saved, 100):
        resumed = CASES[case](seed)
        resumed.stepper.load(path)
        assert_equal(resumed.go().outcome(), expected, f"{path.name}: ")


@pytest.mark.parametrize("case", ["AdamW", "branches", "scaler", "shuffled by its own generator"])
def test_a_run_interrupted_at_every_micro_batch_ends_as_if_never_interrupted(
    case: str, tmp_path: Path
) -> None:
    class Enough(Exception):
        pass

    def save_and_stop(run: Run, _: int) -> None:
        run.stepper.save(tmp_path / "last")
        raise Enough

    expected = CASES[case](0).go().outcome()
    seed, run = 0, CASES[case](0)
    while True:
        try:
            run.go(save_and_stop)
            break
        except Enough:
            seed += 1
            run = CASES[case](seed)
            run.stepper.load(tmp_path / "last")
    assert seed > BATCHES
    assert_equal(run.outcome(), expected)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
@pytest.mark.parametrize("case", MANY_PROCESSES)
def test_worker_processes_draw_the_same_again(case: str, tmp_path: Path) -> None:
    run = MANY_PROCESSES[case](0)
    saved = save_everywhere(run, tmp_path)
    for path in (saved[BATCHES + 3], saved[BATCHES + 1]):
        resumed = MANY_PROCESSES[case](7)
        resumed.stepper.load(path)
        assert_equal(resumed.go().outcome(), run.outcome(), path.name)


@pytest.mark.slow
def test_a_new_process_goes_on_bit_for_bit(tmp_path: Path) -> None:
    expected: dict[Path, Any] = {}
    arguments: list[str] = []
    for case, at in (
        ("noise of three kinds", 4),
        ("branches, windows of 2", 8),
        ("OneCycleLR, scaler", 10),
        ("augmented, own generator", 5),
    ):
        (tmp_path / case).mkdir()
        run = CASES[case](0)
        path = save_everywhere(run, tmp_path / case)[at]
        expected[tmp_path / case / "result"] = run.outcome()
        arguments += [case, str(path), str(tmp_path / case / "result")]
    subprocess.run(
        [sys.executable, "-m", "tests.engine.programs.runs", *arguments], cwd=ROOT, check=True
    )
    for path, outcome in expected.items():
        assert_equal(torch.load(path, weights_only=False), outcome, path.parent.name)


def test_a_run_goes_on_in_the_objects_that_it_was_saved_from(tmp_path: Path) -> None:
    run = CASES["scaler"](0)
    saved = save_everywhere(run, tmp_path)
    expected = run.outcome()
    for path in (saved[3], saved[8], saved[1], saved[-1]):
        run.stepper.load(path)
        assert_equal(run.go().outcome(), expected, path.name)


@pytest.mark.parametrize("case", ["AdamW", "scaler", "bfloat16", "two optimizers", "branches"])
def test_state_dicts_that_people_save_themselves_go_on_bit_for_bit(
    case: str, tmp_path: Path
) -> None:
    saved: list[Path] = []

    def save(run: Run, n: int) -> None:
        saved.append(tmp_path / str(n))
        state = {
            "model": run.model.state_dict(),
            "optimizers": [each.state_dict() for each in run.optimizers],
            "stepper": run.stepper.state_dict(),
        }
        torch.save(state, saved[-1])

    run = CASES[case](0).go(save)
    for path in saved:
        resumed = CASES[case](5)
        state = torch.load(path, weights_only=True)
        resumed.model.load_state_dict(state["model"])
        for optimizer, its in zip(resumed.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(its)
        resumed.stepper.load_state_dict(state["stepper"])
        assert_equal(resumed.go().outcome(), run.outcome(), path.name)


def test_a_state_dict_in_memory_is_not_changed_by_what_comes_after() -> None:
    kept: list[Any] = []

    def keep(run: Run, n: int) -> None:
        kept.append((run.stepper.state_dict(), copy.deepcopy(run.stepper.state_dict())))

    CASES["scaler"](0).go(keep)
    for state, at_the_time in kept:
        assert_equal(state, at_the_time)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("at", [1, 3, -1, 7])
@pytest.mark.parametrize("drawing", [False, True])
def test_what_was_loaded_can_be_saved_again_at_once(
    own: bool, at: int, drawing: bool, tmp_path: Path
) -> None:
    def build(seed: int) -> Run:
        return make(seed, data=loader(own=own, seed=seed))

    def save(run: Run, n: int) -> None:
        if n == at:
            run.stepper.save(tmp_path / "first")

    run = build(0).go(save)
    between = build(1)
    between.stepper.load(tmp_path / "first")
    if drawing:
        iter(between.stepper.over(between.pass_over()))  # and nothing is drawn
    between.stepper.save(tmp_path / "second")
    resumed = build(2)
    resumed.stepper.load(tmp_path / "second")
    assert_equal(resumed.go().outcome(), run.outcome())


# In an emergency ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["AdamW", "shuffled", "augmented, own generator", "scaler"])
@pytest.mark.parametrize("at", [1, 2, 5, 6, 9, 15])
def test_a_save_after_ctrl_c_in_the_forward_loses_nothing(
    case: str, at: int, tmp_path: Path
) -> None:
    expected = CASES[case](0).go().outcome()
    run = CASES[case](0)
    calls = 0

    def interrupt(module: nn.Module, _: Any, out: Tensor) -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            raise KeyboardInterrupt

    assert isinstance(run.model, Net)
    hook = run.model.drop.register_forward_hook(interrupt)
    seen = run.model.seen
    try:
        run.go()
    except KeyboardInterrupt:
        seen -= 1  # the model counts its own forwards, which nobody else can undo
        run.stepper.save(tmp_path / "emergency")
    hook.remove()
    assert calls == at
    resumed = CASES[case](3)
    resumed.stepper.load(tmp_path / "emergency")
    assert_equal(resumed.go().outcome(), expected)


def test_a_save_between_two_losses_of_a_micro_batch_takes_it_up_from_its_start(
    tmp_path: Path,
) -> None:
    def train(run: Run, stop: int | None = None) -> None:
        for i, batch in enumerate(run.stepper.over(run.pass_over())):
            run.stepper.backward(run.loss(batch), items=2, more=True)
            if i == stop:
                run.stepper.save(tmp_path / "half")
                return
            run.stepper.backward(run.loss(batch).sqrt(), items=2)

    expected = make(0)
    train(expected)
    broken = make(0)
    train(broken, stop=3)
    resumed = make(1)
    resumed.stepper.load(tmp_path / "half")
    assert isinstance(resumed.model, Net)
    resumed.model.seen -= 1
    train(resumed)
    assert_equal(resumed.outcome(), expected.outcome())


# Two Steppers ---------------------------------------------------------------------------------


class Gan:
    """Two nets, two Steppers, one loader, one pass inside the other."""

    def __init__(self, seed: int, *, outer: str) -> None:
        torch.manual_seed(seed)
        self.maker = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 5))
        self.judge = nn.Sequential(nn.Linear(5, 4), nn.Dropout(0.2), nn.Linear(4, 1))
        self.its = optim.AdamW(self.maker.parameters(), lr=0.01)
        self.others = optim.SGD(self.judge.parameters(), lr=0.01, momentum=0.9)
        self.making = Stepper(self.maker, self.its, accumulate=2)
        self.judging = Stepper(self.judge, self.others, accumulate=3)
        self.loader = loader(own=True, seed=seed)
        self.outer = outer

    def state(self) -> dict[str, Any]:
        each: tuple[Any, ...] = (self.maker, self.judge, self.its, self.others)
        each += (self.making, self.judging)
        return {str(i): one.state_dict() for i, one in enumerate(each)}

    def load(self, state: dict[str, Any], order: Iterable[int]) -> None:
        each: tuple[Any, ...] = (self.maker, self.judge, self.its, self.others)
        each += (self.making, self.judging)
        for i in order:
            each[i].load_state_dict(state[str(i)])

    def go(self, seen: Callable[[int], None] = lambda n: None) -> None:
        n = 0
        for _ in range(self.making.epoch, 3):
            if self.outer == "maker":
                batches = self.making.over(self.judging.over(self.loader))
            else:
                batches = self.judging.over(self.making.over(self.loader))
            for x, _ in batches:
                made = self.maker(torch.randn(len(x), 3))
                self.judging.backward(self.judge(made.detach()).mean() - self.judge(x).mean())
                self.making.backward(-self.judge(made).mean())
                n += 1
                seen(n)


@pytest.mark.parametrize("outer", ["maker", "judge"])
def test_two_nested_passes_saved_by_the_user_go_on_bit_for_bit(outer: str, tmp_path: Path) -> None:
    gan = Gan(0, outer=outer)
    gan.go(lambda n: torch.save(gan.state(), tmp_path / str(n)))
    for n in range(1, 16):
        for order in ((0, 1, 2, 3, 4, 5), (1, 0, 3, 2, 5, 4)):
            # Each time anew: an optimizer works on the very tensors that it was given to load.
            state = torch.load(tmp_path / str(n), weights_only=True)
            resumed = Gan(n, outer=outer)
            resumed.load(state, order)
            resumed.go()
            assert_equal(resumed.state(), gan.state(), f"after {n}, loaded in order {order}: ")


# More that has to be as it was ----------------------------------------------------------------


def test_the_plan_is_the_same_after_loading(tmp_path: Path) -> None:
    run = make(0, branches=True, data=loader())
    run.model.register_parameter("scalar", nn.Parameter(torch.tensor(1.0)))
    run.optimizers[0].add_param_group({"params": [run.model.scalar]})
    run.go()
    before = run.stepper.plan()
    assert before.packs
    run.stepper.save(tmp_path / "file")
    run.stepper.load(tmp_path / "file")
    assert run.stepper.plan() == before


def test_the_culprit_of_a_window_that_was_saved_half_way_is_still_named(tmp_path: Path) -> None:
    run = make(0, scaled=True)
    (first, second, *_) = listed()
    run.stepper.backward(run.loss(first) * torch.inf, items=2)
    run.stepper.save(tmp_path / "file")
    resumed = make(1, scaled=True)
    resumed.stepper.load(tmp_path / "file")
    for stepping in (run, resumed):
        stepping.stepper.backward(stepping.loss(second), items=2)
    assert run.stepper.last_skip is not None
    assert run.stepper.last_skip.micro_batches == (0,)
    assert resumed.stepper.last_skip == run.stepper.last_skip


def test_an_optimizer_that_evaluates_the_loss_goes_on_or_refuses_to_be_saved(
    tmp_path: Path,
) -> None:
    def build(seed: int) -> Run:
        run = make(seed)
        run.model.eval()
        optimizer = optim.LBFGS(run.model.parameters(), max_iter=3)
        return Run(
            run.model,
            [optimizer],
            Stepper(run.model, optimizer, accumulate=2),
            listed(),
            run=True,
        )

    run, saved = build(0), []

    def save(run: Run, n: int) -> None:
        try:
            run.stepper.save(tmp_path / str(n))
            saved.append(tmp_path / str(n))
        except CheckpointError:
            assert run.stepper.micro_batches  # only inside a window may it refuse

    run.go(save)
    assert len(saved) > BATCHES
    for path in saved:
        resumed = build(1)
        resumed.stepper.load(path)
        resumed.go()
        for name, value in run.model.named_parameters():
            torch.testing.assert_close(
                dict(resumed.model.named_parameters())[name], value, rtol=0, atol=0, msg=path.name
            )


# What does not fit ----------------------------------------------------------------------------


def everything(run: Run) -> dict[str, Any]:
    return run.outcome() | {"grads": [p.grad for p in run.model.parameters()]}


def in_a_window(seed: int = 0, **options: Any) -> Run:
    """A run in the middle of a window, after some updates."""
    run = make(seed, **options)
    for batch in [*listed(), *listed()[:2]]:
        run.stepper.backward(run.loss(batch), items=2)
    assert run.stepper.micro_batches == 1
    assert run.stepper.updates > 1
    return run


def between_windows(seed: int = 0, **options: Any) -> Run:
    run = in_a_window(seed, **options)
    run.stepper.flush()
    return run


def other_net(**options: Any) -> Run:
    model = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 3))
    optimizer = optim.AdamW(model.parameters())
    return Run(model, [optimizer], Stepper(model, optimizer, **options), listed())


def misfit(name: str) -> tuple[Run, Run, str]:
    """What is saved, what it is loaded into, and a word of the complaint."""
    if name == "another model":
        return between_windows(), other_net(accumulate=2), "first.weight"
    if name == "another model, smaller":
        return in_a_window(), other_net(accumulate=2), "first.weight"
    if name == "another shape":
        run, other = make(1), Net()
        other.left = nn.Linear(7, 4)
        optimizer = optim.AdamW(other.parameters())
        stepper = Stepper(other, optimizer, accumulate=2)
        return in_a_window(), Run(other, [optimizer], stepper, run.data), "left.weight"
    if name == "another dtype":
        return between_windows(), make(1, dtype=torch.float64), "float64"
    if name == "another optimizer":
        return between_windows(), make(1, optimizer=optim.Adagrad), "Adagrad"
    if name == "more param groups":
        run = make(1)
        group = run.optimizers[0].param_groups[0]
        moved = group["params"].pop()
        run.optimizers[0].add_param_group({"params": [moved]})
        return between_windows(), run, "param groups"
    if name == "another window":
        return in_a_window(), make(1, accumulate=3), "accumulate=2"
    if name == "no scheduler":
        return in_a_window(cycle=True), make(1), "scheduler"
    if name == "a scheduler":
        return in_a_window(), make(1, cycle=True), "scheduler"
    if name == "another scheduler":
        run = make(1)
        schedule = StepLR(run.optimizers[0], 1)
        stepper = Stepper(run.model, run.optimizers, accumulate=2, scheduler=schedule)
        return (
            in_a_window(cycle=True),
            Run(run.model, run.optimizers, stepper, run.data, [schedule]),
            "OneCycleLR",
        )
    if name == "no scaler":
        return in_a_window(scaled=True), make(1), "GradScaler"
    assert name == "a scaler"
    return in_a_window(), make(1, scaled=True), "GradScaler"


NAMES = [
    "another model",
    "another model, smaller",
    "another shape",
    "another dtype",
    "another optimizer",
    "more param groups",
    "another window",
    "no scheduler",
    "a scheduler",
    "another scheduler",
    "no scaler",
    "a scaler",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_does_not_fit_says_what_differs_and_changes_nothing(
    name: str, tmp_path: Path
) -> None:
    saved, target, word = misfit(name)
    saved.stepper.save(tmp_path / "file")
    before = everything(target)
    with pytest.raises(CheckpointError, match=word):
        target.stepper.load(tmp_path / "file")
    assert_equal(everything(target), before)


@pytest.mark.parametrize("name", ["another model", "another model, smaller", "another shape"])
def test_a_state_of_another_model_says_so_and_changes_nothing(name: str) -> None:
    saved, target, _ = misfit(name)
    state = saved.stepper.state_dict()
    before = everything(target)
    with pytest.raises(CheckpointError):
        target.stepper.load_state_dict(state)
    assert_equal(everything(target), before)


def test_a_window_of_another_size_fits_between_windows(tmp_path: Path) -> None:
    between_windows().stepper.save(tmp_path / "file")
    target = make(1, accumulate=3)
    target.stepper.load(tmp_path / "file")
    target.go()
    assert target.stepper.epoch == 3


@pytest.mark.parametrize("key", list(make(0).stepper.state_dict()))
def test_a_state_that_lacks_something_is_refused_and_changes_nothing(key: str) -> None:
    state = in_a_window().stepper.state_dict()
    del state[key]
    target = in_a_window(1)
    before = everything(target)
    with pytest.raises(CheckpointError):
        target.stepper.load_state_dict(state)
    assert_equal(everything(target), before)


@pytest.mark.parametrize("state", [None, 3, [], {}, "state", {"version": 1}, {"model": {}}])
def test_what_is_no_state_is_refused_and_changes_nothing(state: Any) -> None:
    target = in_a_window(1)
    before = everything(target)
    with pytest.raises(CheckpointError):
        target.stepper.load_state_dict(state)
    assert_equal(everything(target), before)


def test_the_state_of_a_newer_version_says_so_and_changes_nothing() -> None:
    state = in_a_window().stepper.state_dict() | {"version": 99}
    target = in_a_window(1)
    before = everything(target)
    with pytest.raises(CheckpointError, match="version is 99"):
        target.stepper.load_state_dict(state)
    assert_equal(everything(target), before)


@pytest.mark.parametrize("damage", ["cut off", "a flipped bit", "empty", "text", "torch.save"])
def test_a_file_that_is_damaged_or_not_ours_changes_nothing(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    run = in_a_window()
    run.stepper.save(path)
    whole = path.read_bytes()
    middle = len(whole) // 2
    if damage == "cut off":
        path.write_bytes(whole[:middle])
    elif damage == "a flipped bit":
        path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_text("weights")
    else:
        torch.save({"stepper": run.stepper.state_dict()}, path)
    target = in_a_window(1)
    before = everything(target)
    with pytest.raises(CheckpointError):
        target.stepper.load(path)
    assert_equal(everything(target), before)


def test_a_file_that_is_not_there_changes_nothing(tmp_path: Path) -> None:
    target = in_a_window(1)
    before = everything(target)
    with pytest.raises(CheckpointError, match="does not exist"):
        target.stepper.load(tmp_path / "file")
    assert_equal(everything(target), before)


def half_a_pass(data: Any, path: Path) -> None:
    run = make(0, data=data)
    for i, batch in enumerate(run.stepper.over(run.pass_over())):
        run.stepper.backward(run.loss(batch), items=2)
        if i == 3:
            run.stepper.save(path)
            break


def test_other_data_is_told_by_its_length(tmp_path: Path) -> None:
    half_a_pass(listed(), tmp_path / "file")
    resumed = make(1, data=listed(count=6))
    resumed.stepper.load(tmp_path / "file")
    with pytest.raises(CheckpointError, match="5 batches when this was saved, and has 3"):
        resumed.go()


def test_a_generator_that_ends_too_early_is_told(tmp_path: Path) -> None:
    half_a_pass(lambda: iter(listed()), tmp_path / "file")
    resumed = make(1, data=lambda: iter(listed(count=6)))
    resumed.stepper.load(tmp_path / "file")
    with pytest.raises(CheckpointError, match="not the same data"):
        resumed.go()


def test_randomness_is_as_it_was_right_after_loading(tmp_path: Path) -> None:
    run = in_a_window()
    run.stepper.save(tmp_path / "file")
    expected = torch.rand(3), random.random()
    resumed = make(5)
    resumed.stepper.load(tmp_path / "file")
    assert_equal((torch.rand(3), random.random()), expected)


def test_a_disabled_scaler_counts_as_none(tmp_path: Path) -> None:
    in_a_window().stepper.save(tmp_path / "file")
    run = make(1)
    stepper = Stepper(
        run.model, run.optimizers, accumulate=2, scaler=GradScaler("cpu", enabled=False)
    )
    stepper.load(tmp_path / "file")
    assert stepper.micro_batches == 1


def test_the_rate_of_a_schedule_goes_on(tmp_path: Path) -> None:
    run = in_a_window(cycle=True)
    run.stepper.save(tmp_path / "file")
    resumed = make(1, cycle=True)
    resumed.stepper.load(tmp_path / "file")
    one, other = (each.optimizers[0].param_groups[0] for each in (run, resumed))
    assert (one["lr"], one["betas"]) == (other["lr"], other["betas"])
    assert isinstance(resumed.schedulers[0], OneCycleLR)
