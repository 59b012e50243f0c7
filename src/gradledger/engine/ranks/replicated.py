"""DDP's meetings: apart until the last micro-batch of a window, and then in its backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from gradledger.engine.ranks.agenda import Claim, agenda_of
from gradledger.engine.ranks.meetings import Meetings
from gradledger.engine.ranks.replicas import Replicas, Round
from gradledger.engine.ranks.table import Table, Word
from gradledger.engine.sums import Sums
from gradledger.engine.window import Window
from gradledger.errors import MisuseError


class Replicated(Meetings):
    """The ranks need each other once for each window, whatever each of them does until then."""

    apart = True

    def __init__(self, model: DistributedDataParallel, window: Window, sums: Sums) -> None:
        super().__init__(Table(model.process_group), window, sums)
        self._agenda = agenda_of(model.process_group)
        self._replicas = Replicas(model)
        self._round: Round | None = None
        self._number = 0
        self.arrange(1)

    def enrol(self, attend: Callable[[], None]) -> None:
        self._number = self._agenda.enrol(attend)

    def everywhere(self, micro_batch: int) -> bool:
        return micro_batch >= self._window.size

    def arrange(self, micro_batch: int) -> None:
        self._replicas.arrange(meeting=self.everywhere(micro_batch))

    def keep_apart(self) -> None:
        self._replicas.arrange(meeting=False)

    def walk_apart(self, losses: Sequence[Tensor], inputs: list[Tensor], *, retain: bool) -> None:
        self._check_all_trainable(inputs)
        with self._replicas.sending(None):
            torch.autograd.backward(losses, retain_graph=retain, inputs=inputs)

    def walk_together(
        self, losses: Sequence[Tensor], inputs: list[Tensor], items: float, unit: float
    ) -> bool:
        """False if DDP was not prepared to: the forward went past it.

        If it fails, the meeting goes on without: nobody waits for what will not come.
        """
        self._check_all_trainable(inputs)
        self._agenda.call(self._number, Claim.LOSS)
        self._round = round = self._open(items)
        round.weight = items * unit
        self._replicas.make_room(self._sums.loose)
        try:
            with self._replicas.sending(round):
                torch.autograd.backward(losses, inputs=inputs)
        except BaseException as error:
            # DDP counts each gradient, also those of a bucket that is not full yet.
            round.begun |= bool(self.reached(self._replicas.parameters))
            if round.begun and not round.complete:
                self.torn = error
            raise
        finally:
            if not round.begun:
                self._round = None
        if not round.complete:
            round.look()
            missing = [p for p in self._replicas.parameters if p.grad is None]
            self._replicas.fill_up(round, missing)
            if not round.begun:  # DDP would have sent what is complete
                for p in missing:
                    p.grad = None
                return False
        self._round = round
        return True

    @property
    def begun(self) -> bool:
        return self._round is not None

    def stand_in(self) -> None:
        """Nobody needs this rank before the window ends."""

    def turns_elsewhere(self) -> bool:
        return False

    def windows_elsewhere(self) -> bool:
        return not self.all_ended

    def conclude(self) -> Word:
        ends = Claim.END if self._window.begun else Claim.NONE
        self._agenda.call(self._number, ends if self.free else Claim.LOSS)
        round, self._round = self._round or self._open(0.0), None
        if not round.complete:
            round.look()
            self._replicas.attend(round)
        self._replicas.share_buffers()
        word = self.hear()
        cells = zip(self._replicas.parameters, word.reached, strict=True)
        totals = {p: round.totals[p] for p, reached in cells if reached}
        self.take_over(totals, word, word.items)
        self._agenda.close()
        self.free = False
        return word

    def _check_all_trainable(self, inputs: list[Tensor]) -> None:
        if len(inputs) != len(self._replicas.parameters):
            raise MisuseError(
                "parameters were frozen, unfrozen or added since this Stepper was made, and "
                "DistributedDataParallel takes note of them only when it is made: it would wait "
                "for the wrong ones. Make it anew after that, with an optimizer and a Stepper."
            )

    def _open(self, items: float) -> Round:
        parameters, sums = self._replicas.parameters, self._sums.loose

        def speak(reached: list[Tensor]) -> None:
            cells = {id(p) for p in (*reached, *sums)}
            self.table.say(self.word(items, tuple(id(p) in cells for p in parameters)))

        # A window that was given up sends what it has, and says that it is not to be used.
        return Round(parameters, sums, self._window.first_items, speak)
