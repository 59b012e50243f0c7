"""What names from outside of a project stand for: torch, and the libraries around it."""

from __future__ import annotations

from functools import cache

from gradledger.static.ir.notes import AveragedByHand, StepHook
from gradledger.static.source.patterns import Pattern

_PARAMETRIC = frozenset(
    [
        *("Linear", "Bilinear", "LazyLinear", "Sequential", "MultiheadAttention", "ModuleList"),
        *("LayerNorm", "GroupNorm"),
    ]
)
CONTAINERS = frozenset(["Sequential", "ModuleList", "ModuleDict"])
"""They have the parameters of what is in them, and none of their own."""
LISTS = frozenset(["list", "deque", "defaultdict", "UserList", "ModuleList", "ParameterList"])
"""They keep what is appended to them, as it is."""
_PARAMETRIC_FAMILIES = (
    *("Conv", "LazyConv", "Embedding", "LSTM", "GRU", "RNN", "Transformer", "BatchNorm"),
)

WRAPPERS = frozenset(
    [
        "DistributedDataParallel",
        "DDP",
        "DataParallel",
        "FullyShardedDataParallel",
        "FSDP",
        "compile",
        "prepare",
        "setup",
        "fully_shard",
        "convert_syncbn_model",
        "convert_sync_batchnorm",
        "DistributedOptimizer",
        "setup_module",
        "setup_optimizers",
        "script",
        "trace",
        "optimize",
        "broadcast_parameters",
        "DataParallelCriterion",
        "DistributedDataParallelCPU",
        "prepare_model",
        "prepare_optimizer",
        "prepare_module",
        "shard_model",
        "get_peft_model",
        "prepare_model_for_kbit_training",
        "tqdm",
        "enumerate_batches",
    ]
)
"""Called with a model or an optimizer, they give the same one back, dressed up."""

REPLICATING = frozenset(["DistributedDataParallel", "DDP"])

SELF_RETURNING = frozenset(
    [
        "to",
        "cuda",
        "cpu",
        "float",
        "half",
        "double",
        "bfloat16",
        "train",
        "eval",
        "type",
        "requires_grad_",
        "apply",
        "share_memory",
        "requires_grad_",
        "contiguous",
        "module",
        "to_empty",
        "compile",
        "double",
    ]
)
"""Methods of a model that give the model back."""

PLAIN_ATTRIBUTES = frozenset(
    [
        "data",
        "shape",
        "indices",
        "ndim",
        "dtype",
        "device",
        "requires_grad",
        "is_cuda",
        "grad_fn",
        "training",
    ]
)

PLAIN_FUNCTIONS = frozenset(
    [
        "float",
        "int",
        "len",
        "str",
        "print",
        "range",
        "isinstance",
        "hasattr",
        "format",
        "round",
        "bool",
        "repr",
        "abs_",
        "id",
        "type",
        "callable",
        "getattr_",
        "open",
        "input",
    ]
)

MEAN_FUNCTIONS = frozenset(
    [
        "cross_entropy",
        "nll_loss",
        "mse_loss",
        "l1_loss",
        "smooth_l1_loss",
        "huber_loss",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
        "kl_div",
        "soft_margin_loss",
        "hinge_embedding_loss",
        "cosine_embedding_loss",
        "margin_ranking_loss",
        "triplet_margin_loss",
        "multi_margin_loss",
        "multilabel_soft_margin_loss",
        "poisson_nll_loss",
        "gaussian_nll_loss",
        "ctc_loss",
    ]
)
"""torch.nn.functional: a mean over the batch, unless `reduction` says otherwise."""

MEAN_MODULES = frozenset(
    [
        "CrossEntropyLoss",
        "NLLLoss",
        "NLLLoss2d",
        "KLDivLoss",
        "MSELoss",
        "L1Loss",
        "SmoothL1Loss",
        "HuberLoss",
        "BCELoss",
        "BCEWithLogitsLoss",
        "SoftMarginLoss",
        "HingeEmbeddingLoss",
        "CosineEmbeddingLoss",
        "MarginRankingLoss",
        "TripletMarginLoss",
        "MultiMarginLoss",
        "MultiLabelSoftMarginLoss",
        "PoissonNLLLoss",
        "GaussianNLLLoss",
        "CTCLoss",
    ]
)


ITERATION_WRAPPERS = frozenset(
    [
        "tqdm",
        "trange_",
        "iter",
        "list",
        "tuple",
        "reversed",
        "islice",
        "cycle",
        "chain",
        "track",
        "enumerate",
        "zip",
        "progress_bar",
        "tqdm_notebook",
        "log_every",
        "auto",
    ]
)

_ATTACKS = ("attack", "backup_grad", "restore_grad", "perturb", "emb_backup")
_SUSPICIOUS = (
    *("zero", "clear", "reset", "step", "optimi", "update", "backward", "train", "closure"),
    *("grad", "learn", "fit", "cycle", "accum", "hook", "callback", "finish", "finali"),
)
"""How words begin of names by which something may be done to gradients."""
_AT_THE_BEGINNING = ("on", "after", "before", "apply", "iter")
"""The same, for the first word alone: `on_batch_end`."""
_WORDS = Pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_HARMLESS_PHRASES = Pattern(
    r"training (?:mode|state|arg|config|log|dtype)|float training"
    r"|(?:update|reset|accum\w*|step) (?:the )?(?:ema|latent|lr|learning rate|progress|bar"
    r"|metric|stat|meter|log|buffer|priorit|momentum|center|moving|average|timer"
    r"|counter|seed|state|env)"
)
"""They change numbers, or the weights of nets that others train."""

GRADIENT = frozenset({"grad", "_grad"})
"""What a tensor calls its gradient: the second is what the first is kept in."""

OF_STRINGS = frozenset(name for name in dir(str) if not name.startswith("_"))
"""`args.optimizer.lower()`: what has these methods is the name of a thing, and not the thing."""

OF_DICTS = frozenset({"update", "get", "items", "keys", "values", "pop", "setdefault", "copy"})
"""`options["optimizer"].update(lr=0.1)`: what has these methods holds options, or several of it."""

COUNTING = frozenset({"len", "size", "numel", "item", "float", "int"})
"""Functions and methods that give numbers."""

NOTED = {
    "all_reduce": AveragedByHand,
    "PeriodicModelAverager": AveragedByHand,
    "HierarchicalModelAverager": AveragedByHand,
    "PostLocalSGD": AveragedByHand,
    "average_parameters": AveragedByHand,
    "register_optimizer_step_post_hook": StepHook,
}
"""What is noted of a call, by how the function's name starts."""

LEARNING = frozenset({"update", "learn", "optimize", "backprop", "compute_gradients"})
"""Methods by which a model may well fill its gradients itself, where nobody can follow them."""


def last(dotted: str) -> str:
    """The name after the last dot."""
    return dotted.rpartition(".")[2]


def has_parameters(built: str) -> bool:
    """Is this a module of torch's that surely has parameters?"""
    name = last(built)
    return built.startswith("torch.nn.") and (
        name in _PARAMETRIC or name.startswith(_PARAMETRIC_FAMILIES)
    )


@cache
def attacks(name: str) -> bool:
    """Adversarial training, by its name? It reads gradients and puts others in their place."""
    name = name.lower()
    return any(word in name for word in _ATTACKS)


@cache
def is_suspicious(name: str) -> bool:
    """Of a method that cannot be followed: may it well do something to gradients, by its name?"""
    lower = name.lower()
    if not any(word in lower for word in (*_SUSPICIOUS, *_AT_THE_BEGINNING)):
        return False  # most names, without a look at their words
    words = [word.lower() for word in _WORDS.findall(name)]
    if words and words[0] in _AT_THE_BEGINNING:
        return True
    said = _HARMLESS_PHRASES.sub("", " ".join(words))
    return any(word.startswith(_SUSPICIOUS) for word in said.split())
