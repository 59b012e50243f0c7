"""For frameworks that leave the loop to the program: each call of their `backward` is a turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradledger.integrations.framework_audit import FrameworkAudit


class LoopAudit(FrameworkAudit):
    """Begins at once, and ends with its `with`, with the framework's own end, or with Python."""

    _undo: list[Callable[[], None]]

    def attend(
        self,
        owner: Any,
        *,
        log: Callable[[dict[str, float]], None],
        folder: Callable[[], str | None],
        ends_with: str = "",
    ) -> LoopAudit:
        """Listen to this object of the framework."""
        self._undo = []
        kind = type(owner)

        def backward(*args: Any, **kwargs: Any) -> Any:
            self.tell()
            if metrics := self.metrics():
                log(metrics)
            # Looked up here: the audit may have put something round it.
            return kind.backward(owner, *args, **kwargs)

        def ended(*args: Any, **kwargs: Any) -> Any:
            if metrics := self.metrics():
                log(metrics)
            self.end()
            return getattr(kind, ends_with)(owner, *args, **kwargs)

        self.begin(folder)
        self._put(owner, "backward", backward)
        if ends_with:
            self._put(owner, ends_with, ended)
        return self

    def end(self, error: BaseException | None = None) -> None:
        """As for all; the object of the framework is then as it was."""
        while self.is_open and self._undo:
            self._undo.pop()()
        super().end(error)

    def _put(self, owner: Any, name: str, function: Callable[..., Any]) -> None:
        setattr(owner, name, function)
        self._undo.append(lambda: vars(owner).pop(name, None))
