"""Names of optimizers: torch's, and those of the libraries around it."""

from __future__ import annotations

from functools import lru_cache

from gradledger.static.models.schedulers import is_scheduler

_OPTIMIZER_PACKAGES = frozenset(
    ["optim", "optimizer", "optimizers", "torch_optimizer", "adamp", "madgrad"]
)


_OPTIMIZERS = frozenset(
    [
        *("Adagrad", "Adadelta", "Adafactor", "Rprop", "ASGD", "LBFGS", "NAdam", "RAdam", "LAMB"),
        *("Lamb", "LARS", "Lookahead", "SAM", "Muon", "Novograd", "AdaBelief", "Shampoo", "Yogi"),
        *("Prodigy", "BertAdam", "Optimizer"),
    ]
)


_OPTIMIZER_FAMILIES = ("Adam", "SGD", "RMSprop", "Lion", "Ranger")
"""Their names begin so: AdamW, SGDP."""


_OPTIMIZER_KINDS = ("", "Sparse", "Fused", "CPU", "DeepSpeedCPU", "Paged", "Distributed")


OPTIMIZER_HARMLESS = frozenset(
    [
        "state_dict",
        "param_groups",
        "state",
        "defaults",
        "add_param_group",
        "register_step_pre_hook",
        "register_step_post_hook",
        "__class__",
        "__repr__",
        "get_lr",
        "set_lr",
        "get_last_lr",
        "share_memory",
        "consolidate_state_dict",
        "train",
        "eval",
    ]
)

_HARMLESS = (
    *("save", "load", "log", "print", "checkpoint", "restore", "resume", "adjust", "set_lr"),
    *("get_lr", "lr_", "_lr", "learning_rate", "info", "summary", "state", "watch", "sched"),
    *("warmup", "len", "isinstance", "hasattr", "getattr", "type", "id", "str", "repr"),
    *("format", "append", "copy", "init", "register", "tag", "write", "dump", "report"),
    *("record", "metric", "valid", "eval", "test_", "debug", "assert", "count", "cuda"),
    *("device", "to_", "move", "freeze", "saver", "callback", "trainer", "logger", "callable"),
    *("display", "plot", "show"),
)


@lru_cache(maxsize=1024)  # a file calls the same few functions again and again
def is_optimizer_class(dotted: str) -> bool:
    """Is this the class of an optimizer?"""
    *packages, name = dotted.split(".")
    for kind in _OPTIMIZER_KINDS:
        plain = name.removeprefix(kind)
        if plain in _OPTIMIZERS or plain.startswith(_OPTIMIZER_FAMILIES):
            return True
    if _OPTIMIZER_PACKAGES.isdisjoint(packages) or name.startswith("AveragedModel"):
        return False
    return "A" <= name[:1] <= "Z" and "chedul" not in name and not is_scheduler(dotted)


def leaves_optimizers_alone(name: str) -> bool:
    """Of a function that cannot be followed and gets an optimizer: harmless, by its name?"""
    name = name.lower()
    return name.endswith("dict") or any(word in name for word in _HARMLESS)
