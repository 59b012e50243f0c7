"""Rewrites a training loop to Stepper, from what the checker has followed.

`adopt.adopted` is the way in. `cycle` finds the loop, `window` and `loss` say what one update is
made of, `options` and `names` what the Stepper is made of, `kept` what has to stay, and `rewriting`
has the edits.
"""
