"""From code to programs of effects.

How to read it: `machine` holds what is known and has the few entry points (`eval`, `run`, `call`,
`assign`, `both`); `dispatch` says which function handles which kind of node, and which library.
A handler is a plain function `(machine, node)` and is named after what it handles: `run_for` in
`loops`, `eval_call` in `calls`, `optimizer_method` in `optimizer_calls`. Handlers import what is
below them; whatever is above they reach through the machine.

What is known is of three kinds (`domain`): `Flow` is a value that is forked and joined with the
paths, `Context` is what is around and is as before once a block has ended, and `Log` is what was
come by so far. `roots` says where to begin, `lowering` follows each root, `root` is what comes out.

What a library does is in a file of its own, and in the tables of `dispatch`: `accelerate`, `apex`,
`deepspeed`, `ignite`, `lightning`. The names that libraries use are in `models`.
"""
