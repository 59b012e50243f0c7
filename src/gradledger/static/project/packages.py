"""Where the imports of a project begin, and which packages are no part of it."""

from __future__ import annotations

import os
import sys

from gradledger.static import budget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

OUTSIDE = frozenset(
    {
        *sys.stdlib_module_names,
        *[
            "torch",
            "torchvision",
            "torchaudio",
            "torchtext",
            "numpy",
            "np",
            "scipy",
            "pandas",
            "sklearn",
            "matplotlib",
            "tqdm",
            "transformers",
            "datasets",
            "accelerate",
            "lightning",
            "pytorch_lightning",
            "deepspeed",
            "apex",
            "wandb",
            "gradledger",
            "tensorboardX",
            "yaml",
            "PIL",
            "cv2",
            "gym",
            "gymnasium",
            "einops",
            "timm",
            "peft",
            "ignite",
            "fastai",
            "horovod",
            "jax",
            "flax",
            "tensorflow",
            "keras",
            "mxnet",
            "paddle",
            "omegaconf",
            "hydra",
            "absl",
            "ray",
            "optuna",
            "rich",
            "click",
            "sympy",
            "mpmath",
            "networkx",
            "typing_extensions",
            "packaging",
            "psutil",
            "requests",
            "pydantic",
            "huggingface_hub",
            "safetensors",
            "tokenizers",
            "sentencepiece",
            "nltk",
            "skimage",
            "seaborn",
            "tensorboard",
        ],
    }
)
"""Names of packages that are no file of a project: looking for one costs time."""


def starts(folder: str, level: int, roots: tuple[str, ...]) -> Iterator[str]:
    """The folders in which an import in this one may begin, the nearest first."""
    if level:
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        yield folder
        return
    for _ in range(budget.MOST_FOLDERS_UP):
        yield folder
        top = folder in roots or os.path.exists(os.path.join(folder, ".git"))
        parent = os.path.dirname(folder)
        if top or parent == folder:
            break
        folder = parent
    yield os.path.join(folder, "src")
