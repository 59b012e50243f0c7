"""The auditor is silent on correct programs, however they clear, weigh, order and share.

Each program in traps/ trains rightly in a way that looks wrong to somebody, one idea per file. A
line that ends in `# may be: GL204` may get that finding: the work there is wasted, and the update
right. One that ends in `# dies: …` raises.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.nursery import Nursery, allowed, marked
from tests.tiers import slow_but_some

FOLDER = Path(__file__).with_name("traps")
PROGRAMS = sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("program", slow_but_some(3, PROGRAMS), ids=lambda program: program.stem)
def test_the_auditor_finds_nothing_in(program: Path, auditor: Nursery) -> None:
    source = program.read_text(encoding="utf-8")
    audited = auditor.audit(program, strict=True)
    assert ("Error" in audited.error) == ("# dies:" in source), audited.error
    assert audited.trouble == ""
    assert audited.findings <= allowed(program), audited.words
    # An auditor that looks away is silent too.
    assert bool(audited.tally.backwards) == (".backward(" in source)
    assert audited.tally.respent == 0


def test_a_trap_marks_nothing_but_wasted_work() -> None:
    for program in PROGRAMS:
        assert marked(program) == frozenset()
        assert {finding.partition(":")[0] for finding in allowed(program)} <= {"GL204"}


CLEAR = "optimizer.zero_grad()"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "right", "wrong", "rule"),
    [
        ("accumulation_on_purpose", "/ accumulate", "", "GL301"),
        ("accumulation_on_purpose", f"            {CLEAR}\n", "", "GL101"),
        (
            "accumulation_divided_by_hooks",
            "parameter.register_hook(lambda grad: grad / accumulate)",
            "parameter.requires_grad_()",
            "GL301",
        ),
        ("accumulation_gradients_divided", "div_(accumulate)", "div_(1.0)", "GL301"),
        (
            "accumulation_short_window_divided_by_its_own_size",
            "(tail if in_tail else accumulate)",
            "accumulate",
            "GL302",
        ),
        ("accumulation_of_noised_slices", " * len(images) / len(batch)", "", "GL301"),
        (
            "accumulation_of_sums_from_zero",
            "    loss = torch.tensor",
            f"    {CLEAR}\n    loss = torch.tensor",
            "GL201",
        ),
        ("accumulation_by_items", "(len(part) / len(inputs))", "0.25", "GL302"),
        ("window_straddles_epochs", "    for inputs", "    seen = 0\n    for inputs", "GL203"),
        ("zero_grad_in_a_function", f"    {CLEAR}\n", "", "GL101"),
        ("zero_grad_in_base_class", "self.optimizer.zero_grad()", "pass", "GL101"),
        ("zero_grad_in_wrapper_class", "self._optimizer.zero_grad()", "pass", "GL101"),
        ("zero_grad_in_closure", f"        {CLEAR}\n", "", "GL101"),
        ("foreach_zero", "        torch._foreach_zero_(", "        len(", "GL101"),
        ("grad_set_to_none", "param.grad = None", "pass", "GL101"),
        ("manual_sgd_on_data", "        model.zero_grad()\n", "", "GL101"),
        ("lbfgs", f"    {CLEAR}\n", "", "GL101"),
        (
            "zero_grad_at_the_end",
            f"step()\n        {CLEAR}",
            "zero_grad()\n        optimizer.step()",
            "GL201",
        ),
        ("bad_batch_cleared_in_except", f"            {CLEAR}\n", "", "GL902"),
        ("nan_guard_on_gradients", "if valid:", "if valid or True:", "GL901"),
        ("scaler", "        scaler.unscale_(optimizer)\n", "", "GL401"),
        ("unscale_and_a_plain_step", "        scaler.unscale_(optimizer)\n", "", "GL402"),
        ("scaler_skips", "if scaler.get_scale() >= before:", "if True:", "GL504"),
        ("gan_frozen_discriminator", "requires_grad_(False)", "requires_grad_(True)", "GL204"),
        ("two_optimizers_one_after_the_other", "epoch < 3", "epoch % 2", "GL605"),
        ("conditional_layers", "set_to_none=True", "set_to_none=False", "GL604"),
        ("tbptt_detached", "state.detach()", "state", "GL702"),
        ("losses_kept_as_numbers", "running += loss.detach()", "running = running + loss", "GL701"),
        (
            "losses_kept_as_numbers",
            "history.append(loss.detach())",
            "history.append(loss)",
            "GL701",
        ),
        ("manual_sgd", "            w.grad.zero_()\n", "", "GL101"),
        ("sparse_accumulation", " / 4)", ")", "GL301"),
        ("gradient_checkpointing_reentrant", " / accumulate", "", "GL301"),
        ("eval_in_the_middle_of_a_window", " / accumulate", "", "GL301"),
        ("iterations_without_epochs", "(loss / 4)", "loss", "GL301"),
        ("accumulation_of_batchmean", "(loss / accumulate)", "loss", "GL301"),
        (
            "layerwise_optimizer_in_backward_hook",
            "    optimizers[parameter].zero_grad()\n",
            "",
            "GL101",
        ),
        ("two_threads", f"            {CLEAR}\n", "", "GL101"),
        ("ensemble", f"            {CLEAR}\n", "", "GL101"),
        ("compiled_model", f"        {CLEAR}\n", "", "GL101"),
        ("loader_with_workers", f"            {CLEAR}\n", "", "GL101"),
        ("optimizer_subclass_not_torchs", f"        {CLEAR}\n", "", "GL101"),
        (
            "optimizer_with_its_own_zero_grad",
            "                p.grad = None",
            "                pass",
            "GL101",
        ),
        (
            "parameters_added",
            'optimizer.add_param_group({"params": body.parameters(), "lr": 0.001})',
            "pass",
            "GL601",
        ),
        (
            "network_that_grows",
            "        optimizer = torch.optim.SGD([*model.p",
            "        torch.optim.SGD([*model.p",
            "GL601",
        ),
        ("gradient_penalty", "requires_grad_(False)", "requires_grad_(True)", "GL204"),
        (
            "scaler_of_two_optimizers",
            "scaler.step(opt_body)\n",
            "scaler.step(opt_body)\n        scaler.update()\n",
            "GL404",
        ),
        ("backward_in_another_thread", f"    {CLEAR}\n", "", "GL101"),
        ("backward_in_another_thread", "    thread.start()\n    thread.join()\n", "", "GL202"),
        ("step_in_another_thread", f"        {CLEAR}\n", "", "GL101"),
        ("micro_batches_in_a_thread_pool", " / accumulate", "", "GL301"),
        ("micro_batches_in_a_thread_pool", f"                {CLEAR}\n", "", "GL101"),
        ("micro_batches_at_the_same_time", f"        {CLEAR}\n", "", "GL101"),
        ("ensemble_in_a_thread_pool", f"            {CLEAR}\n", "", "GL101"),
        ("cleared_by_a_step_hook", "register_step_post_hook", "register_step_pre_hook", "GL201"),
        ("cleared_by_a_step_hook", f"    {CLEAR}\n", "    pass\n", "GL101"),
        ("cleared_by_a_hook_of_all_optimizers", "parameter.grad = None", "pass", "GL101"),
        ("gradients_in_one_flat_buffer", "    flat.zero_()\n", "", "GL101"),
        (
            "gradients_in_one_flat_buffer",
            "    optimizer.step()\n",
            "    flat.zero_()\n    optimizer.step()\n",
            "GL201",
        ),
        ("two_nets_in_one_flat_buffer", "    halves[0].zero_()\n", "", "GL101"),
        ("two_nets_in_one_flat_buffer", "    halves[1].zero_()\n", "", "GL101"),
        ("clip_limit_scaled", "max_norm * scaler.get_scale()", "max_norm", "GL401"),
        (
            "clip_limit_follows_the_scale",
            "\n    limit = max_norm * scaler.get_scale()",
            "\n    limit = limit + 0.0",
            "GL401",
        ),
        ("norm_of_scaled_gradients_divided", "() / scaler.get_scale()", "()", "GL401"),
        ("shared_model_of_workers", "ours._grad = mine", "mine", "GL202"),
        ("threads_divide_by_hand", "div_(4)", "div_(1)", "GL301"),
        (
            "threads_with_loaders_of_their_own",
            "            optimizer.zero_grad()\n",
            "",
            "GL101",
        ),
        (
            "layerwise_optimizers_every_other_pass",
            "        optimizers[parameter].zero_grad()\n",
            "",
            "GL101",
        ),
        ("grad_set_by_its_name", 'setattr(parameter, "grad", None)', "pass", "GL101"),
        (
            "graph_kept_for_autograd_grad",
            "(gradient,) = torch.autograd.grad(losses[0], body.weight)",
            "gradient = losses[0].detach()",
            "GL703",
        ),
        (
            "recurrent_net_by_hand",
            "loss.backward()\n    state = state.detach()",
            "loss.backward(retain_graph=True)",
            "GL702",
        ),
        ("gradients_cleared_under_another_name", "torch._foreach_zero_", "len", "GL101"),
        (
            "accumulation_of_sums_as_many_classes_as_batches",
            "/ (SIZE * ACCUMULATE)",
            "/ SIZE",
            "GL301",
        ),
        ("loader_ends_inside_a_window", " / accumulate", "", "GL301"),
        ("accumulation_of_chunks", "(loss / micro_batches)", "loss", "GL301"),
        ("losses_in_parts_kept_as_numbers", "total + loss.detach()", "total + loss", "GL701"),
        ("losses_in_parts_kept_as_numbers", "append(part.item())", "append(part)", "GL701"),
        ("accumulation_drawn_by_hand", " / accumulate", "", "GL301"),
        ("accumulation_as_in_a_language_model", "loss = loss / accumulate", "pass", "GL301"),
        ("accumulation_of_rows_picked_by_hand", " / accumulate", "", "GL301"),
        ("gradients_normalised", "/= norm", "/= 2", "GL301"),
        ("accumulation_over_a_generator", "(loss / 4)", "loss", "GL301"),
        ("accumulation_with_smoothed_labels", " / size", "", "GL301"),
        ("accumulation_with_smoothed_labels", " / size", " / accumulate", "GL302"),
        ("accumulation_of_half_a_loss", " / size", "", "GL301"),
        ("accumulation_of_a_loss_with_a_factor", " / accumulate", "", "GL301"),
        ("accumulation_of_masked_tokens", " / accumulate", "", "GL301"),
        ("accumulation_of_masked_tokens", "keep[:, 9:] = 0", "keep[:20, 9:] = 0", "GL302"),
        ("accumulation_weight_given_to_backward", "backward(share)", "backward()", "GL301"),
        ("accumulation_of_batches_drawn_ahead", " / len(window)", "", "GL301"),
        ("accumulation_of_batches_drawn_ahead", "batch_size=8", "batch_size=7", "GL302"),
        ("accumulation_of_batches_kept_in_a_list", " / 4", "", "GL301"),
        ("accumulation_over_a_cycle", " / 4", "", "GL301"),
        ("accumulation_read_ahead_in_a_thread", " / 4", "", "GL301"),
        (
            "accumulation_with_scaler_and_clip",
            "        if (i + 1) % accumulate == 0:\n            scaler.unscale_(optimizer)\n"
            "            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n",
            "        if i % accumulate == 1:\n            scaler.unscale_(optimizer)\n"
            "        if (i + 1) % accumulate == 0:\n",
            "GL404",
        ),
        (
            "accumulation_over_a_loader_without_an_end",
            " or i + 1 == len(loader)",
            "",
            "GL203",
        ),
        (
            "accumulation_drawn_ahead_with_a_short_tail",
            "len(window) > 0",
            "len(window) == 4",
            "GL203",
        ),
        ("accumulation_drawn_ahead_with_a_short_tail", " / len(window)", " / 4", "GL302"),
        ("update_tried_again_after_a_timeout", "model.zero_grad()", "pass", "GL902"),
        (
            "window_given_up_after_a_bad_sample",
            "    if good < BATCH:\n        continue\n",
            "",
            "GL902",
        ),
    ],
)
def test_the_auditor_finds_what_the_trap_is_not(
    name: str, right: str, wrong: str, rule: str, auditor: Nursery, tmp_path: Path
) -> None:
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert source.count(right) == 1
    program = tmp_path / f"{name}.py"
    program.write_text(source.replace(right, wrong), encoding="utf-8")
    # Of GL504 torch warns as well, and the program would end there.
    audited = auditor.audit(program, strict=rule != "GL504")
    assert audited.trouble == ""
    assert {finding.partition(":")[0] for finding in audited.findings} == {rule}, audited.words


@pytest.mark.parametrize(
    "name", ["layerwise_optimizer_in_backward_hook", "optimizer_in_backward_behind_a_wrapper"]
)
def test_hooks_that_step_make_no_more_backward_passes(name: str, auditor: Nursery) -> None:
    tally = auditor.audit(FOLDER / f"{name}.py", strict=True).tally
    batches, epochs, parameters = 4, 3, 4
    assert tally.backwards == batches * epochs
    assert tally.entries == tally.spent == tally.steps == batches * epochs * parameters


def test_a_wrapper_that_steps_too_is_no_wrapper(auditor: Nursery, tmp_path: Path) -> None:
    source = (FOLDER / "optimizer_in_backward_behind_a_wrapper.py").read_text(encoding="utf-8")
    clears = "        self.optimizers[parameter].zero_grad()\n"
    assert source.count(clears) == 1
    program = tmp_path / "program.py"
    program.write_text(source.replace(clears, ""), encoding="utf-8")
    rules = {finding.partition(":")[0] for finding in auditor.audit(program, strict=True).findings}
    assert "GL605" in rules
