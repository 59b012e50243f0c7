"""Source to programs of events.

Read it in this order: `values` (what an expression can be) and `state` (what a walk knows); then
the walk itself, each file on top of the one before: `names`, `arithmetic`, `expressions`,
`inlining`, `strangers`, `stepping`, `gradients`, `tensors`, `outside`, `calls`, `windows`,
`conditions`, `assignments`, `choices`, `managers`, `going_round`, `loops`, `statements`,
`frameworks`. `roots` says where to begin, and `binding` gives what happened its cells, once all of
the code has been walked.
"""
