"""Source to programs of events.

Read it in this order: `values` (what an expression can be), `scopes` and `state` (what a walk
knows), then the walk itself, each file on top of the one before: `naming`, `names`,
`members`, `arithmetic`, `expressions`, `callees`, `looking`, `arguments`, `passing_over`,
`inlining`, `strangers`, `depositing`, `stepping`, `gradients`, `net_calls`, `tensors`, `outside`,
`calls`, `windows`, `conditions`, `targets`, `by_hand`, `assignments`, `choices`, `managers`,
`going_round`, `many_optimizers`, `loops`, `statements`, `frameworks`. What only one of these asks
for stands beside it: `slices`, `holding_back`, `hearing`, `loop_shapes`, `unspent`, `asked`,
`trying`, `unlisted`, `kinds`, `exchanging`, `held_losses`, `options`, `never_owned`, `generating`,
`beginning`.

`roots` says where to begin, `following` walks from there, and `root` is what is known then;
`training` says what of a file trains at all. Once all of the code has been walked, `binding` makes
events of what happened: `ownership` says which cells there are, `settling` what happens to them.
"""
