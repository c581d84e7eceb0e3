"""Forms of files that state settings without a command: overrides, arguments of a bench, tables of runs."""

import csv
import re
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import yaml

from tools.recipe_documents import Document, Published, command, flags

_NUMBER = re.compile(r"\d+(?:\.0)?")


def overrides(of: Document) -> Iterator[Published]:
    """A file of settings as overrides of a command; its name tells model and devices."""
    path = PurePosixPath(of.path)
    if (found := re.fullmatch(r"(.+?)-(\d+)gpus?(?:-.*)?", path.stem)) is not None:
        kept = re.compile(of.place.get("keep", ""))
        leaves = _leaves(yaml.safe_load(of.text), "")
        words = [f"{key}={value}" for key, value in leaves if kept.match(key)]
        yield Published(
            text=shlex.join([*of.place["command"].split(), *words]),
            title=path.name,
            said={"devices": int(found[2]), "model": found[1]},
        )


def _leaves(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        for name, inner in node.items():
            yield from _leaves(inner, f"{path}.{name}" if path else str(name))
    elif node is not None and not (isinstance(node, str) and "$" in node):
        yield path, str(node).lower() if isinstance(node, bool) else node


_COLUMNS = {
    "tp_size": "tensor_model_parallel_size", "pp_size": "pipeline_model_parallel_size",
    "cp_size": "context_parallel_size", "ep_size": "expert_model_parallel_size",
    "vp_size": "virtual_pipeline_model_parallel_size", "mbs": "micro_batch_size", "gbs": "global_batch_size",
    "seq_len": "encoder_seq_length",
}  # fmt: skip
"""Columns of NeMo's table of performance, and NeMo's names."""


_NAMES = {
    "llama31-405b": "llama3.1-405b",
    "llama4-e128": "llama4-maverick",
    "llama4-e16": "llama4-scout",
}
_LEFT_OUT = re.compile("flux|neva|qwen25vl|vlm|nemotron[3h]|nemotron4-15b")
"""Models of that table that are no text models, or unknown."""


def performance(of: Document) -> Iterator[Published]:
    """Each row of NeMo's table of performance that the program's own fields can say.

    They cannot say adapters, sharded parameters, recomputed modules, or experts divided unlike the rest.
    """
    for line, row in enumerate(csv.DictReader(of.text.splitlines()), 2):
        given = {name: int(float(value)) for name, value in row.items() if value and _NUMBER.fullmatch(value)}
        if given.get("use_mcore_fsdp") or given.get("activation_offload_layers") or row["recompute_modules"]:
            continue
        if row["task"] == "lora" or given.get("etp_size", given["tp_size"]) != given["tp_size"]:
            continue
        if _LEFT_OUT.match(f"{row['model']}-{row['size']}"):
            continue
        words = [
            f"model.{key}={given[name]}"
            for name, key in _COLUMNS.items()
            if given.get(name, 0) > (name == "vp_size")
        ]
        words.append(f"model.enable_cuda_graph={str(bool(given.get('cuda_graphs'))).lower()}")
        if layers := given.get("recompute_layers"):
            words += [
                "model.activations_checkpoint_granularity=full",
                "model.activations_checkpoint_method=block",
                f"model.activations_checkpoint_num_layers={layers}",
            ]
        name = _NAMES.get(f"{row['model']}-{row['size']}", f"{row['model']}-{row['size']}").replace("_", "-")
        yield Published(
            text=shlex.join(["python3", "megatron_gpt_pretraining.py", *words]),
            line=line,
            title=f"{row['task']}, {row['model']} {row['size']}, {given['num_gpus']} {row['dtype']}",
            said={
                "model": name,
                "hardware": row["system"],
                "precision": row["dtype"],
                "devices": given["num_gpus"],
                "role": "train" if row["task"] == "pre_train" else "finetune",
            },
        )


def mad(of: Document) -> Iterator[Published]:
    """Each model of AMD's files of runs of vLLM; where a run is another on a chip, as it is on that chip.

    The files have MXFP4 on gfx950 alone.
    """
    lines = [n for n, line in enumerate(of.text.splitlines(), 1) if line.startswith("- ")]
    for line, one in zip(lines, yaml.safe_load(of.text), strict=True):
        for chip, other in {"gfx950": {}, **(one.get("arch_overrides") or {"": {}})}.items():
            run = one | other
            words = ["--tensor-parallel-size", str(run["tp"]), "--dtype", str(run["dtype"])]
            for flag, value in (run.get("extra_args") or {}).items():
                words += [flag] if value is True else [flag, str(value)]
            for model in run["model"].split():
                if ("mxfp4" in model.lower()) != (chip == "gfx950"):
                    continue
                yield Published(
                    text=command(["vllm", "serve", model, *words], run["env"]),
                    line=line,
                    title=f"{run['benchmark']}, {model}",
                    said={
                        "context": {"input_len": run["inp"], "output_len": run["out"]},
                        "hardware": f"amd-{chip}" if chip else "amd",
                    },
                )


def bench(of: Document) -> Iterator[Published]:
    """A file of arguments of ``trtllm-bench``, with those of the engine in it, named by its model."""
    given = yaml.safe_load(of.text)
    path = PurePosixPath(of.path)
    sizes = {name: given.get(name) for name in ("tp_size", "pp_size", "ep_size", "max_batch_size")}
    sizes["kv_cache_free_gpu_memory_fraction"] = given.get("kv_cache_free_gpu_mem_fraction")
    yield Published(
        text=shlex.join(["trtllm-serve", path.stem, *flags(sizes), "--config", path.name]),
        title=path.name,
        files={path.name: yaml.safe_dump(given.get("llm_api_args") or {}, sort_keys=False)},
    )
