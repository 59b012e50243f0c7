"""Source to programs of events.

Read it in this order: `values` (what an expression can be) and `state` (what a walk knows); then
the walk itself, each file on top of the one before: `names`, `arithmetic`, `expressions`,
`callees`, `inlining`, `strangers`, `stepping`, `gradients`, `tensors`, `outside`, `calls`,
`windows`, `conditions`, `targets`, `by_hand`, `assignments`, `choices`, `managers`, `going_round`,
`loops`, `statements`, `frameworks`. What only one of these asks for stands beside it: `slices`,
`holding_back`, `hearing`, `set_later`, `retaining`, `unspent`. `roots` says where to begin. Once
all of the code has been walked, `binding` makes events of what happened: `ownership` says which
cells there are, `settling` what happens to them.
"""
