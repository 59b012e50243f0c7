"""What names from outside of a project stand for: torch, and the libraries around it."""

from __future__ import annotations

import re

OPTIMIZER = re.compile(
    r"(^|\.)(optim|optimizers?|apex\.optimizers|bitsandbytes\.optim|torch_optimizer|adamp|madgrad)\."
    r"(\w+\.)*(?!lr_scheduler)(?!AveragedModel)[A-Z]\w*$"
)
OPTIMIZER_NAME = re.compile(
    r"^(Sparse|Fused|CPU|DeepSpeedCPU|Paged|Distributed)?(Adam\w*|SGD\w*|RMSprop\w*|Adagrad|Adadelta|Adafactor|Rprop|ASGD|"
    r"LBFGS|NAdam|RAdam|LAMB|Lamb|LARS|Lion\w*|Ranger\w*|Lookahead|SAM|Muon|Novograd|AdaBelief|"
    r"Shampoo|Yogi|Prodigy|BertAdam|Optimizer)$"
)
SCHEDULER = re.compile(
    r"(^|\.)lr_scheduler\.\w+$|[a-z](LR|Scheduler|Schedule|LROnPlateau|WarmRestarts|Decay)$|LR$|"
    r"(^|\.)get_\w*(schedule|scheduler)\w*$|(^|\.)(create|build|make)_\w*(schedule)\w*$"
)
SCALER = re.compile(r"(^|\.)(GradScaler|ShardedGradScaler|NativeScaler)$")

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

DETACHING = frozenset(
    [
        "item",
        "detach",
        "detach_",
        "numpy",
        "tolist",
        "size",
        "dim",
        "numel",
        "new_zeros",
        "new_ones",
        "argmax",
        "max_memory_allocated",
        "long",
        "int",
        "bool",
        "eq",
        "ne",
        "gt",
        "lt",
        "ge",
        "le",
        "topk_indices",
        "isnan",
        "isfinite",
        "data_ptr",
        "shape",
        "nelement",
        "element_size",
        "get_device",
        "is_contiguous",
        "any",
        "all",
        "astype",
        "backward_",
        "to_numpy",
    ]
)
"""Methods of a tensor whose result has no graph."""

PLAIN_ATTRIBUTES = frozenset(
    ["data", "shape", "ndim", "dtype", "device", "requires_grad", "is_cuda", "grad_fn", "training"]
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
        "kl_div_",
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

HARMLESS_TO_OPTIMIZERS = re.compile(
    r"save|load|log|print|checkpoint|restore|resume|adjust|set_lr|get_lr|lr_|_lr|learning_rate|info|summary|state|"
    r"watch|sched|warmup|len|isinstance|hasattr|getattr|type|id|str|repr|format|append|copy|init|register|tag|"
    r"write|dump|report|record|metric|valid|eval|test_|debug|assert|count|cuda|device|to_|move|freeze|Saver|"
    r"Callback|Trainer|Logger|callable|dict$|display|plot|show",
    re.IGNORECASE,
)
"""Functions that cannot be followed, get an optimizer, and by their names leave it alone."""

ATTACKS = re.compile(r"attack|backup_grad|restore_grad|perturb|emb_backup", re.IGNORECASE)
"""Methods of adversarial training, which read gradients and put others in their place."""

SUSPICIOUS = re.compile(
    r"zero|clear|reset|step|optimi|update|backward|train|closure|grad|learn|fit|cycle|accum|iter_end"
    r"|after_|before_|on_|hook|callback|finish|finali|apply_",
    re.IGNORECASE,
)
"""Methods that cannot be followed and may well do something to gradients."""

OPTIMIZER_HARMLESS = frozenset(
    [
        "state_dict",
        "load_state_dict",
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


def last(dotted: str) -> str:
    """The name after the last dot."""
    return dotted.rpartition(".")[2]


def is_optimizer_class(dotted: str) -> bool:
    """Is this the class of an optimizer?"""
    name = last(dotted)
    return bool(
        OPTIMIZER_NAME.match(name) or (OPTIMIZER.search(dotted) and not is_scheduler(dotted))
    )


def is_scheduler(dotted: str) -> bool:
    """Does this make a learning-rate scheduler?"""
    return bool(SCHEDULER.search(dotted))


_PARAMETRIC = re.compile(
    r"^(Linear|Bilinear|LazyLinear|Conv\w+|LazyConv\w+|Embedding\w*|LSTM\w*|GRU\w*|RNN\w*|Sequential|"
    r"Transformer\w*|MultiheadAttention|ModuleList|BatchNorm\w+|LayerNorm|GroupNorm)$"
)


def has_parameters(built: str) -> bool:
    """Is this a module of torch's that surely has parameters?"""
    return built.startswith("torch.nn.") and bool(_PARAMETRIC.match(last(built)))
