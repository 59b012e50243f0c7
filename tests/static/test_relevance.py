from __future__ import annotations

import pytest

from gradledger.static.source.relevance import relevant


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nloss.backward()",
        "import torch\nloss.backward (retain_graph=True)",
        "import torch\nopt.step()",
        "import lightning as L\nself.manual_backward(loss)",
        "from accelerate import Accelerator\naccelerator.backward(loss)",
        "def clear(opt):\n    opt.zero_grad()",
        "def train(loss, opt):\n    loss.backward()\n    opt.step()",
        "import pytorch_lightning\nscaler.step (opt)",
        "import lightning\ndef training_step(self): return loss / trainer.accumulate_grad_batches",
        "import transformers\ndef compute_loss(self): return x / args.gradient_accumulation_steps",
        "from torch import nn\nloss_scaler(loss, optimizer, clip_grad=1.0)",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_what_may_have_gradients_in_it_is_looked_at(text: str, encoding: str) -> None:
    assert relevant(text.encode(encoding))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "import torch  # for backward compatibility",
        "import torch\ny = model(x)",
        "import torch\nmeter.update(loss)\nsave(model, optimizer)",
        "import gym\nenv.step(action)",
        "layer.backward(error)",
        "import torch\ndef _conv_backward(x): pass",
        "import lightning\ndef training_step(self, batch): return self(batch).mean()",
    ],
)
def test_what_can_have_none_is_not(text: str) -> None:
    assert not relevant(text.encode())
