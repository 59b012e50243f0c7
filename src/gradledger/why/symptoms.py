"""What people see when training goes wrong and nothing raises."""

from __future__ import annotations

from gradledger.why.cost_symptoms import COST
from gradledger.why.entry import Entry
from gradledger.why.gradient_symptoms import GRADIENTS
from gradledger.why.loss_symptoms import LOSS
from gradledger.why.scale_symptoms import SCALE

SYMPTOMS: tuple[Entry, ...] = (*LOSS, *COST, *GRADIENTS, *SCALE)
