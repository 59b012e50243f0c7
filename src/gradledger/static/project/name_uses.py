"""What a name is for, told by what the file does with it."""

from __future__ import annotations

from gradledger.static import budget
from gradledger.static.source.patterns import Pattern, first_word, last_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Role = Literal["optimizer", "scheduler", "scaler", "model"]

_METHODS = (
    *("zero_grad", "step", "parameters", "named_parameters", "train", "eval", "unscale_", "update"),
    *("scale", "param_groups", "load_state_dict", "state_dict", "no_sync", "backward"),
)
OF_MODELS = frozenset({"parameters", "named_parameters", "zero_grad"})
"""Methods of nets, and of nothing that is data."""

_INDICES = Pattern(r"\[.*?\]")
_BACKWARD = Pattern(r"\b(\w+)(?:\[[^][]*\])?\s*\.backward\(|(?:scale|backward)\(\s*(\w+)\s*\)")
_STEPPED_BY_SCALER = Pattern(r"scaler\.(?:step|unscale_)\(\s*(?:\w+\.)*(\w+)")

_OPTIMIZER_WORDS = ("optim", "Optim", "OPTIM")
_OPT = Pattern(r"(?:^|_)(?:opt|OPT)s?(?:$|_|\d|[A-Z])|Opt(?:$|[A-Z_])")
_SCHEDULER_WORDS = ("sched", "warmup", "annealer", "plateau")


def backwarded(text: str) -> set[str]:
    """Names on which backward is called: each is surely a loss with its graph."""
    if "backward(" not in text and "scale(" not in text:
        return set()
    *before, _ = calls = text.split("backward(")
    owners = [code[:-1].rstrip() for code in before if code.endswith(".")]
    plain = "scale(" not in text and all(code.startswith(")") for code in calls[1:])
    if plain and not any(owner.endswith("]") for owner in owners):
        # `loss.backward()`, as nearly all write it: a pattern would say the same, and more slowly.
        return {name for owner in owners if (name := last_word(owner))}
    return {a or b for a, b in _BACKWARD.findall(text)}


class Uses:
    """The methods that a file calls on each of its names, whatever they are attributes of."""

    def __init__(self, text: str) -> None:
        self._methods: dict[str, set[str]] = {}
        first, *behind_dots = text.split(".")
        dot = len(first)
        for code in behind_dots:
            # There are few of these methods and many names: these are looked at afterwards.
            if code.startswith(_METHODS) or (
                code[:1].isspace() and code.lstrip().startswith(_METHODS)
            ):
                method = first_word(code.lstrip())
                if method in _METHODS and (
                    owner := _owner(text[max(0, dot - budget.FARTHEST_OWNER) : dot])
                ):
                    self._methods.setdefault(owner, set()).add(method)
            dot += len(code) + 1
        self._stepped = set(_STEPPED_BY_SCALER.findall(text)) if "scaler." in text else set()

    def of(self, name: str) -> set[str]:
        """What is called on it."""
        return self._methods.get(name, set())

    def steps(self, name: str) -> bool:
        """Is it stepped or cleared somewhere?"""
        return bool(self.of(name) & {"step", "zero_grad"}) or name in self._stepped

    def role(self, key: str) -> Role | None:
        """What the thing that is reached by this key must be; None where that is not plain."""
        name = key if "[" not in key else _INDICES.sub("", key)
        name = name.rpartition(".")[2].rpartition(":")[2]
        methods = self.of(name)
        if "scaler" in name.lower() or "unscale_" in methods:
            return "scaler"
        if _schedules(name.lower()):
            return "scheduler"
        if name in self._stepped:
            return "optimizer"
        if {"zero_grad", "step"} <= methods and not methods & {"parameters", "backward"}:
            return "optimizer"
        if _optimizes(name) and "parameters" not in methods:  # wrappers for fp16 have a backward
            return "optimizer"
        if methods & {"parameters", "named_parameters", "zero_grad", "eval"}:
            return "model"
        return None


def _owner(before: str) -> str:
    """What a method is called on, by what stands before its dot; nothing where that is no name."""
    before = before.rstrip()
    if before.endswith("]"):
        before, bracket, index = before[:-1].rpartition("[")
        if not bracket or "]" in index:
            return ""
    return last_word(before)


def _schedules(name: str) -> bool:
    """A scheduler, by its name in lower case?"""
    return any(word in name for word in _SCHEDULER_WORDS) or "lr" in name.split("_")


def _optimizes(name: str) -> bool:
    """An optimizer, by its name?"""
    if "opt" not in name.lower():
        return False
    return any(word in name for word in _OPTIMIZER_WORDS) or bool(_OPT.search(name))
