"""Whether a file can have anything to do with gradients, by a look at its bytes."""

from __future__ import annotations

# A word is looked for by itself first: most files do not have it. Then as a call, which leaves out
# the prose ("backward compatible"). No pattern is nearly as fast as that.
_CALLS = (
    (b"backward", (b".backward(", b".backward (", b"manual_backward(")),
    (b".step", (b".step(", b".step (")),
)
_HANDS_OVER = (b"training_step", b"compute_loss")
_WINDOWS = (b"accumulate_grad_", b"gradient_accumulation")
"""Who leaves the cycle to a framework, and has an eye on its windows, deposits by returning."""
_HANDS_LOSS = (
    *(b"loss, opt", b"loss, self.opt", b"optimizer, loss", b"step(loss", b"batch(loss"),
    b"update_params(",
)
"""Who leaves it to something else to train with its loss."""
_FRAMEWORKS = (b"torch", b"lightning", b"accelerate", b"transformers", b"deepspeed", b"fastai")


def relevant(data: bytes) -> bool:
    """Could there be gradients in it? A file that answers no is never decoded nor parsed."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        # UTF-16: two bytes for each letter, one of them zero.
        data = data.replace(b"\0", b"")
    # Nobody else says zero_grad; and a file that does may get its model from its callers. So may
    # one that forgets to: it deposits and spends, and need not say by what.
    if b"zero_grad" in data:
        return True
    deposits, spends = _calls(data)
    if deposits and spends:
        return True
    # What all of these words have in common first: it stands in few files.
    windows = b"accum" in data and any(w in data for w in _WINDOWS)
    hands_over = windows and any(w in data for w in _HANDS_OVER)
    if not (deposits or spends or hands_over):
        # Few files have this word, and none that trains is without it.
        hands_over = b"optim" in data and any(w in data for w in _HANDS_LOSS)
    return (deposits or spends or hands_over) and any(name in data for name in _FRAMEWORKS)


def _calls(data: bytes) -> list[bool]:
    """Whether it deposits, and whether it spends."""
    return [word in data and any(call in data for call in calls) for word, calls in _CALLS]


def effort(data: bytes) -> int:
    """About how much work a relevant file is, in bytes that are only read: training is followed."""
    deposits, spends = _calls(data)
    return len(data) + (_TRAINING if deposits and spends else 0)


_TRAINING = 40_000
