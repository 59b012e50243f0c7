"""A test for accumulation: the window's gradient against that of its items in one big batch.

`assertion` is what people call. `trials` makes gradients on copies, `off_the_books`, each pass by
`deposit`; `big_batch` joins the batches, `agreement` compares, `weights` finds who weighs what, and
`words` says it.
"""

from gradledger.runtime.window_equality.assertion import assert_window_equals_batch

__all__ = ["assert_window_equals_batch"]
