"""What a failed comparison says: by how much, who weighs what, why, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isclose, isfinite, isnan, log2
from typing import NamedTuple

from gradledger.runtime.window_equality import agreement
from gradledger.runtime.window_equality.agreement import Gradients, flat
from gradledger.runtime.window_equality.weights import Weights, weigh

EXPLAINED = 1e-3
"""Weights that leave less than this part of a gradient open are taken for its explanation."""

DIVIDE_ONCE = (
    "Divide the sum of each micro-batch's losses by the items of the whole window "
    "(`loss_sum / total_items`), or let gradledger.Stepper weigh: "
    "`stepper.backward(loss, items=…)`."
)


class Suspects(NamedTuple):
    """What keeps a window from its big batch however it is weighed."""

    batch_normalisations: tuple[str, ...]
    random: bool
    changed_buffers: tuple[str, ...]


def message(
    window: Gradients,
    whole: Gradients,
    own: Sequence[Gradients],
    items: Sequence[int | None],
    rtol: float,
    suspects: Suspects,
) -> str:
    """All of it, for a person who reads a failed test."""
    spoilt = [i for i, gradients in enumerate(own, 1) if not flat(gradients).isfinite().all()]
    finite = bool(flat(window).isfinite().all())
    weighs = weigh(window, own) if finite else None
    should = weigh(whole, own)
    parts = [_headline(window, whole, rtol, finite=finite)]
    parts += _table(_telling(weighs), _telling(should), items)
    if not finite:
        parts.append(_not_finite(spoilt))
    elif (times := agreement.times(window, whole)) is not None and not isclose(times, 1.0):
        parts.append(_factor(times, len(own), _without_gradient(own)))
    elif should is None or weighs is None:
        parts.append(
            f"Who weighs what can't be told: the gradients of the {len(own)} micro-batches are too "
            "much alike, or the model has too few parameters. Fewer micro-batches, or others, "
            f"would tell. {DIVIDE_ONCE}"
        )
    elif should.unexplained > EXPLAINED:
        parts.append(_inseparable(should, suspects))
    elif weighs.unexplained > EXPLAINED:
        parts.append(_more_than_weights(weighs, suspects))
    else:
        parts.append(_misweighed(weighs, should))
    return "\n".join(parts)


def _headline(window: Gradients, whole: Gradients, rtol: float, *, finite: bool) -> str:
    if not finite:
        return "the window's gradient is not finite; that of the big batch is."
    apart = {name: agreement.distance(window, whole, name) for name in whole}
    worst = max(apart, key=lambda name: apart[name])
    total = agreement.distance_of_all(window, whole)
    if not isfinite(total):
        return f"the big batch's gradient is zero, and the window's is not: look at {worst}."
    return (
        f"the window's gradient is not that of the big batch: it is off by {_percent(total)} "
        f"(rtol allows {_percent(rtol)}), most in {worst} ({_percent(apart[worst])})."
    )


def _telling(weights: Weights | None) -> Weights | None:
    """Weights that leave much open are no weights to show to a person."""
    return weights if weights is not None and weights.unexplained <= EXPLAINED else None


def _table(
    weighs: Weights | None, should: Weights | None, items: Sequence[int | None]
) -> Iterator[str]:
    if weighs is None and should is None:
        return
    yield "  micro-batch    rows     weighs   should weigh"
    for i, count in enumerate(items):
        yield (
            f"  {i + 1:11}   {'?' if count is None else count:>5}   "
            f"{_weight(weighs, i):>8}   {_weight(should, i):>12}"
        )


def _weight(weights: Weights | None, i: int) -> str:
    if weights is None or isnan(weights.each[i]):
        return "?"
    shown = f"{weights.each[i]:.4f}"
    return "0.0000" if shown == "-0.0000" else shown


def _not_finite(spoilt: list[int]) -> str:
    if not spoilt:
        return "Each micro-batch's own gradient is finite: the NaN or Inf comes from accumulate."
    which = ", ".join(map(str, spoilt))
    return (
        f"The mean of micro-batch {which} alone is not finite, as a mean over no items is (all "
        f"labels ignored). {DIVIDE_ONCE}"
    )


def _without_gradient(own: Sequence[Gradients]) -> list[int]:
    return [i for i, gradients in enumerate(own, 1) if not flat(gradients).any()]


def _factor(times: float, count: int, empty: list[int]) -> str:
    said = f"It is {times:.6g} times that of the big batch, in every parameter."
    if isclose(times, count, rel_tol=1e-3):
        return f"{said} The losses of {count} micro-batches add up, and none is divided by {count}."
    if empty and isclose(times * count, count - len(empty), rel_tol=1e-3):
        which = ", ".join(map(str, empty))
        return (
            f"{said} Micro-batch {which} has no gradient, as one without a valid item, and is "
            f"counted in the divisor all the same. {DIVIDE_ONCE}"
        )
    if isclose(times * count, 1.0, rel_tol=1e-3):
        return (
            f"{said} It is divided by {count} once too often: the loss is a sum already, or is "
            "divided in two places."
        )
    if times >= 128 and isclose(log2(times), round(log2(times)), rel_tol=1e-9):
        return f"{said} A GradScaler's scale is still in it: unscale before you compare."
    return f"{said} The divisor has to be the number of micro-batches in this very window."


def _inseparable(should: Weights, suspects: Suspects) -> str:
    said = (
        f"No weights would do: {_percent(should.unexplained)} of the big batch's gradient is in no "
        "combination of the micro-batches' own."
    )
    if suspects.batch_normalisations:
        first = suspects.batch_normalisations[0]
        return (
            f"{said} BatchNorm ({first}) uses the statistics of the batch it sees, which are "
            "others in a micro-batch. Compare with `model.eval()`, or use GroupNorm."
        )
    if suspects.random:
        return (
            f"{said} The model draws random numbers (dropout), and draws others for the big batch. "
            "Compare with `model.eval()`, or with dropout set to 0."
        )
    if suspects.changed_buffers:
        return f"{said} {_carried(suspects)}"
    return (
        f"{said} The loss mixes the items of a batch (contrastive losses do, and ranking losses), "
        "so that accumulation can't equal it."
    )


def _more_than_weights(weighs: Weights, suspects: Suspects) -> str:
    said = (
        "Weights alone do not give the window's gradient: "
        f"{_percent(weighs.unexplained)} of it is in no combination of the micro-batches' own."
    )
    if suspects.changed_buffers:
        return f"{said} {_carried(suspects)}"
    return (
        f"{said} Something else lands in the cells, or changes them between the backward passes: "
        "clip_grad_value_, a second loss, an edit by hand."
    )


def _carried(suspects: Suspects) -> str:
    return (
        f"Every forward pass changes the buffer {suspects.changed_buffers[0]}, and the next one "
        "sees it (running statistics, spectral_norm). Compare with `model.eval()`."
    )


def _misweighed(weighs: Weights, should: Weights) -> str:
    pairs = list(zip(weighs.each, should.each, strict=True))
    gone = [str(i) for i, (now, ought) in enumerate(pairs, 1) if abs(now) < 1e-6 < abs(ought)]
    if gone:
        return (
            f"Nothing is left of micro-batch {', '.join(gone)}: the deposit was cleared inside the "
            "window, or never made."
        )
    known = [now for now in weighs.each if not isnan(now)]
    if all(isclose(now, known[0], rel_tol=1e-6) for now in known):
        return f"All weigh the same, whatever they hold: a mean of means. {DIVIDE_ONCE}"
    return DIVIDE_ONCE


def _percent(part: float) -> str:
    return f"{100 * part:,.0f} %" if part >= 1 else f"{100 * part:.3g} %"
