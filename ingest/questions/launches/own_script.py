"""What a training loop of the user's own says in PyTorch: network, loader, number formats, what is compiled.

Sources:
    https://docs.pytorch.org/docs/stable/data.html, https://docs.pytorch.org/docs/stable/amp.html,
    https://docs.pytorch.org/vision/stable/models.html, https://huggingface.co/docs/timm,
    https://lightning.ai/docs/pytorch/stable/common/trainer.html,
    https://huggingface.co/docs/accelerate/package_reference/accelerator
"""

import ast
from collections.abc import Iterable, Iterator, Mapping

from ingest.questions.launches.launch_facts import LaunchFacts
from ingest.questions.launches.options import LaunchOptions

OWN = "torch"
"""The program that a script of the user's own is one of."""
_MODEL = "model_name_or_path"
ANSWERING = "transformers-generate"
"""The program that a script is which lets Transformers answer."""
DENOISING = "diffusers-pipeline"
"""The program that a script is which makes pictures by a pipeline of Diffusers."""
ALONE = frozenset({ANSWERING, DENOISING})
"""Programs that are scripts in which a library computes answers itself."""
_STEPS = ("num_inference_steps", "height", "width", "num_frames", "torch_dtype", "dtype", "device_map")
"""Arguments of what loads a pipeline, or lets it compute, that decide what runs."""
_ASKED = {"model": (_MODEL,), "precision": ("dtype", "torch_dtype")}
_ANSWERS = ("dtype", "torch_dtype", "device_map", "max_new_tokens")
"""Arguments of what loads a model, or lets it answer, that decide what runs."""
ACCELERATED = "accelerate"
"""The program that runs a loop over a model of Transformers."""
_IN_A_LOOP = {
    "batch_size": "per_device_train_batch_size",
    "num_workers": "dataloader_num_workers",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "mixed_precision": "mixed_precision",
}
"""Arguments of a loader and of an ``Accelerator``, by the options of a trainer."""
LOADER = frozenset({"batch_size", "num_workers", "pin_memory", "persistent_workers", "prefetch_factor"})
"""Arguments of a loader that decide its speed."""
_BUILT = "torchvision.models"
_MODULE = "LightningModule"
_AS_WRITTEN = frozenset(
    {
        "non_blocking", "fused", "gradient_as_bucket_view", "static_graph", "bucket_cap_mb",
        "find_unused_parameters",
    }
)  # fmt: skip
"""Arguments that are settings wherever they stand."""
_WRAPPED = {
    "DistributedDataParallel": "ddp",
    "DataParallel": "DataParallel",
    "FullyShardedDataParallel": "fsdp",
    "fully_shard": "fsdp",
    "checkpoint": "gradient_checkpointing",
}
_RUNNERS = frozenset(
    {"lightning.Trainer", "pytorch_lightning.Trainer", "lightning.pytorch.Trainer", "accelerate.Accelerator"}
)
"""What runs a loop whose parts a script writes."""
_TURNS = frozenset({"accumulate_grad_batches", "gradient_accumulation_steps"})
WORLD = "world"
"""The devices that a runner is told."""
_SET = {
    "torch.backends.cudnn.benchmark": "cudnn.benchmark",
    "cudnn.benchmark": "cudnn.benchmark",
    "torch.backends.cuda.matmul.allow_tf32": "float32_matmul_precision",
}
_HALF = frozenset({"autocast", "half", "bfloat16", "float16", "fp16", "bf16", "GradScaler", "Accelerator"})
"""Words by which a script computes in 16 bit, or may."""


def trains_itself(nodes: Iterable[ast.AST]) -> bool:
    """True if a program computes gradients in a loop of its own, or writes the parts of one for a runner."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr == "backward")
        or (isinstance(node, ast.ClassDef) and any(_text(base).endswith(_MODULE) for base in node.bases))
        for node in nodes
    )


def answering(nodes: Iterable[ast.AST], imported: Mapping[str, tuple[str, str]]) -> ast.Call | None:
    """The call by which Transformers answers; None where no model of its own does."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    loads = any(module == "transformers" and "Model" in name for module, name in imported.values())
    for node in calls:
        made = imported.get(_text(node.func), ("", ""))
        generates = isinstance(node.func, ast.Attribute) and node.func.attr == "generate"
        if made == ("transformers", "pipeline") or (loads and generates):
            return node
    return None


def answer_settings(nodes: Iterable[ast.AST], imported: Mapping[str, tuple[str, str]]) -> dict[str, object]:
    """What a script says of how Transformers answers: the model of its pipeline, its format, its devices."""
    found: dict[str, object] = {"generate": True}
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        for item in node.keywords:
            word = item.value.attr if isinstance(item.value, ast.Attribute) else None
            value = item.value.value if isinstance(item.value, ast.Constant) else word
            is_model = item.arg == "model" and imported.get(_text(node.func)) == ("transformers", "pipeline")
            if value is not None and (is_model or item.arg in _ANSWERS):
                found[_MODEL if is_model else str(item.arg)] = value
    return found


def denoising(nodes: Iterable[ast.AST], imported: Mapping[str, tuple[str, str]]) -> ast.Call | None:
    """The call that loads a pipeline of Diffusers; None where there is none."""
    made = [name for name, (module, _) in imported.items() if module.partition(".")[0] == "diffusers"]
    for node in nodes:
        if isinstance(node, ast.Call) and _text(node.func).endswith(".from_pretrained"):
            loaded = _text(node.func).removesuffix(".from_pretrained")
            if "Pipeline" in loaded and loaded in made:
                return node
    return None


def denoise_settings(nodes: Iterable[ast.AST], loaded: ast.Call) -> dict[str, object]:
    """What a script says of how a pipeline computes: its model, format and steps, and what it switches on."""
    first = loaded.args[0] if loaded.args else None
    found: dict[str, object] = {"from_pretrained": True}
    if isinstance(first, ast.Constant):
        found[_MODEL] = first.value
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        name = _text(node.func).rpartition(".")[2]
        if name.startswith("enable_") and not node.args:
            found[name] = True
        if name in {"compile", "compile_repeated_blocks"}:
            found["compile"] = True
        for item in node.keywords:
            word = _text(item.value).rpartition(".")[2] if isinstance(item.value, ast.Attribute) else None
            value = item.value.value if isinstance(item.value, ast.Constant) else word
            if value is not None and (item.arg in _STEPS or item.arg == "memory_format"):
                found[str(item.arg)] = value
    return found


def read_denoising(options: LaunchOptions) -> LaunchFacts:
    """The question of a script that makes pictures: its model to be served, as PyTorch computes it."""
    said = {name: options.text(*names) for name, names in _ASKED.items()}
    current = {name: options.values[name] for name in ("memory_format", "compile") if name in options.values}
    question: dict[str, object] = {"phase": "serving", "current": current}
    if options.text("device_map") is None:
        question["count"] = 1
    return LaunchFacts(question=question | {name: text for name, text in said.items() if text is not None})


def accelerated(nodes: Iterable[ast.AST], imported: Mapping[str, tuple[str, str]]) -> ast.Call | None:
    """The ``Accelerator`` that a loop runs by; None where it runs by none."""
    calls = (node for node in nodes if isinstance(node, ast.Call))
    return next(
        (node for node in calls if imported.get(_text(node.func)) == ("accelerate", "Accelerator")), None
    )


def loop_settings(nodes: Iterable[ast.AST]) -> dict[str, object]:
    """What a loop says of its first loader and of how accelerate runs it, by a trainer's options."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    firsts = (
        next((node for node in calls if _text(node.func).rpartition(".")[2] == name), None)
        for name in ("DataLoader", "Accelerator")
    )
    told = (item for node in firsts if node is not None for item in node.keywords)
    said = {
        _IN_A_LOOP[item.arg]: item.value.value
        for item in told
        if item.arg in _IN_A_LOOP and isinstance(item.value, ast.Constant)
    }
    return {"dataloader_num_workers": 0, **said}


def read_answering(options: LaunchOptions) -> LaunchFacts:
    """The question of a script that lets Transformers answer: its model to be served, by any server."""
    said = {name: options.text(*names) for name, names in _ASKED.items()}
    question: dict[str, object] = {"phase": "serving", "current": {}}
    question |= {name: text for name, text in said.items() if text not in {None, "auto"}}
    if (tokens := options.positive("max_new_tokens")) is not None:
        question["shape"] = {"output_len": tokens}
    return LaunchFacts(question=question)


def own_settings(nodes: Iterable[ast.AST], imported: Mapping[str, tuple[str, str]]) -> dict[str, object]:
    """Settings of a script beside those of its loader, by the names that strategies have them by.

    Without a word on 16 bit a network that the script makes itself is trained in 32.

    Args:
        nodes: Of the program.
        imported: Module and name of what it imports, by the name that it has there.
    """
    nodes = [*nodes]
    found = dict(pair for node in nodes for pair in _of_node(node, imported))
    named = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    named |= {node.id for node in nodes if isinstance(node, ast.Name)}
    named |= {str(node.value) for node in nodes if isinstance(node, ast.Constant)}
    if _MODEL in found and not (named & _HALF or {"precision", "torch.autocast"} & found.keys()):
        found["precision"] = "float32"
    return found


def _of_node(node: ast.AST, imported: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, object]]:
    if isinstance(node, ast.Assign) and (option := _SET.get(ast.unparse(node.targets[0]))):
        on = isinstance(node.value, ast.Constant) and node.value.value is True
        yield option, ("high" if on else "highest") if "precision" in option else on
    if isinstance(node, ast.keyword) and node.arg == "memory_format" and "channels_last" in _text(node.value):
        yield "memory_format", "channels_last"
    if isinstance(node, ast.keyword) and node.arg in _AS_WRITTEN and isinstance(node.value, ast.Constant):
        yield node.arg, node.value.value
    if isinstance(node, ast.FunctionDef) and "torch.compile" in map(_text, node.decorator_list):
        yield "torch.compile", True
    if isinstance(node, ast.Call):
        yield from _of_call(node, imported)


def _of_call(node: ast.Call, imported: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, object]]:
    called = _text(node.func)
    owner, _, name = called.rpartition(".")
    module, real = imported.get(owner or name, ("", ""))
    whole = ".".join(filter(None, (module, real, owner and name))) if module else called
    first = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
    if whole.startswith(_BUILT) and name.islower() and name != "get_model":
        yield _MODEL, name
    elif name in {"create_model", "get_model"} and isinstance(first, str):
        yield _MODEL, first.partition(".")[0]
    elif whole == "torch.compile":
        yield "torch.compile", True
    elif whole in _RUNNERS:
        yield from _of_runner(
            {item.arg: item.value.value for item in node.keywords if isinstance(item.value, ast.Constant)}
        )
    elif name == "set_float32_matmul_precision" and isinstance(first, str):
        yield "float32_matmul_precision", first
    elif name == "autocast":
        said = " ".join(_text(one) for one in (*node.args, *(item.value for item in node.keywords)))
        yield "torch.autocast", "bfloat16" if "bfloat16" in said else "float16"
    elif real in _WRAPPED or name in _WRAPPED:
        yield _WRAPPED.get(real) or _WRAPPED[name], True


def _of_runner(told: Mapping[str | None, object]) -> Iterator[tuple[str, object]]:
    """The settings that a ``Trainer`` of Lightning or an ``Accelerator`` is told."""
    words = str(told.get("precision", told.get("mixed_precision", ""))).split("-")
    if words[0] in {"32", "no"}:
        yield "precision", "float32"
    elif words[0] in {"16", "fp16", "bf16"}:
        name = "bfloat16" if words[0] == "bf16" else "float16"
        yield ("precision" if words[-1] == "true" else "torch.autocast"), name
    strategy = str(told.get("strategy", ""))
    if strategy.startswith(("ddp", "fsdp")):
        yield strategy.partition("_")[0], True
    if "find_unused_parameters_true" in strategy:
        yield "find_unused_parameters", True
    if (stage := strategy.removeprefix("deepspeed_stage_")[:1]).isdecimal():
        yield "zero_stage", int(stage)
    each, nodes = told.get("devices"), told.get("num_nodes", 1)
    if isinstance(each, int) and isinstance(nodes, int) and each > 0:
        yield WORLD, each * nodes
    yield from (("turns", size) for name, size in told.items() if name in _TURNS)
    if told.get("benchmark") is True:
        yield "cudnn.benchmark", True


def _text(node: ast.AST) -> str:
    return ast.unparse(node)
