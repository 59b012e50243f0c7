"""Source to programs of events.

Read it in this order: `values` (what an expression can be), `state` (what a walk knows), then
`expressions`, `inlining`, `calls`, `conditions`, `statements` and `frameworks`, each on top of the
one before; `roots` says where to begin, `binding` gives the effects their cells.
"""
