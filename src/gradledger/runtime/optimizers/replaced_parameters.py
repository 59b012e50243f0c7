"""Watches modules for parameters that are replaced."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

from gradledger.ledger.events import Replace
from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Patches
from gradledger.runtime.program.objects import is_a, parameters_in


class Modules:
    """Writes a `Replace` where a module gets another parameter in the place of one in the books."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def watch(self, patches: Patches) -> None:
        """Audit all modules until the patches are closed."""
        for register in (
            register_module_parameter_registration_hook,
            register_module_module_registration_hook,
        ):
            patches.callback(register(self._exchanged).remove)

    @unfailing
    def _exchanged(self, module: nn.Module, name: str, new: Tensor | nn.Module | None) -> None:
        """Called just before the new one is put in its place."""
        if self.journal.asleep:
            return
        old = _parameters(module._parameters.get(name)) or _parameters(module._modules.get(name))
        slot = self.journal.cells.slot
        by = _parameters(new)
        lost = [p for p in old if slot(p) is not None and not any(p is other for other in by)]
        if lost:
            at = self.journal.arrive()
            self.journal.meet(by, at)
            named = self.journal.cells.named
            self.journal.post(Replace(at, named(lost), named(by)))


def _parameters(part: object) -> list[Tensor]:
    if is_a(part, nn.Module):
        return [parameter for _, parameter in parameters_in(part)]
    return [part] if is_a(part, Tensor) else []
