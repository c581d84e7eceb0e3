"""Forms in which projects publish whole configurations, each as text that launches it.

What launches it is written as people would type it, so that the launch readers of the product, and nothing
else, say what a setting means.
"""

import ast
import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import yaml

from kg.nouns.values import Value
from tools.kustomize import Read, build
from tools.recipe_documents import Document, Published, command, flags
from tools.recipe_tables import bench, mad, overrides, performance

_BLOCK = re.compile(r"^( *)```+ *(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
_SHELLS = frozenset({"", "bash", "sh", "shell", "console", "yaml", "text"})
_CELL = re.compile(r"(?:(\d+)k)?(\d+)k_tp(\d+)_conc(\d+)")
_GPUS = re.compile(r"_(\d+)gpus?_([a-z]+\d+)_(\w+?)(?:_config)?$")
_BLACKWELL = {"brand": "NVIDIA", "generation": "blackwell"}
_FORMATS = {"nvfp4": _BLACKWELL, "fp4": _BLACKWELL}
"""Chips of formats where a variant of vLLM's recipes states none, as the project's page has them."""
_BROKEN = re.compile(r"\\[ \t]+$")
"""A continuation that blanks after it break on the page, though it is meant."""
_ROLE = re.compile(r"_(pretrain|sft|peft|lora)(?=_|$)")


def launches(of: Document) -> Iterator[Published]:
    """A script or manifest as it is; of a page each block of commands, under its heading."""
    if not of.path.endswith(".md"):
        yield Published(text=of.text, title=PurePosixPath(of.path).name)
        return
    for block in _BLOCK.finditer(of.text):
        if block[2] in _SHELLS:
            heading = next(iter(_HEADING.findall(of.text[: block.start()])[-1:]), "")
            lines = (line.removeprefix(block[1]) for line in block[3].splitlines())
            inner = "\n".join(_BROKEN.sub(r"\\", line) for line in lines)
            line = of.text.count("\n", 0, block.start()) + 2
            yield Published(text=inner, line=line, title=heading, near=heading)


def file(of: Document) -> Iterator[Published]:
    """A file of settings, read by the command that the table names."""
    model = ""
    if (values := of.read(str(PurePosixPath(of.path).with_name("values.yaml")))) is not None:
        found = re.search(r"^    name: *(\S+)", values, re.MULTILINE)
        model = found[1] if found else ""
    path = PurePosixPath(of.path)
    served = re.search(r"^served-model-name: *(\S+)", of.text, re.MULTILINE)
    named = served[1] if served else path.stem
    ranks = re.search(r"nproc_per_node[ =](\d+)", of.text)
    said: dict[str, Any] = {"devices": int(ranks[1])} if ranks else {}
    yield Published(
        text=of.place["command"].format(file=path.name, model=model or named),
        title=f"{path.parts[-3]}, {path.name}" if path.name == "serving-args.yaml" else path.name,
        files={path.name: of.text},
        said=said,
    )


_POD = {"Deployment", "StatefulSet", "LeaderWorkerSet", "DisaggregatedSet"}
_LABEL = "llm-d.ai/"
_LATE = re.compile(r"(vllm serve )([^\n]*\n)\s*([\w.-]+/[\w.-]+) \\\n")
"""A model on a line of its own behind flags, which its place is free of."""


def kustomization(of: Document) -> Iterator[Published]:
    """Each server of a kustomization, whose base and patches are read together; one of CPUs is left out.

    Words around it are the labels of its nodes and the remarks of the kustomizations that it is made of.
    """
    if "\nkind: Component" in of.text:
        return
    remarks: list[str] = []

    def read(path: str) -> str | None:
        text = of.read(path)
        if text is not None and PurePosixPath(path).name.startswith("kustomization"):
            remarks.extend(re.findall(r"^ *#.*", text, re.MULTILINE))
        return text

    built = [one for one in build(of.path, read) if one["kind"] in _POD]
    servers = [found for one in built for found in _servers(one, 1, 1, {})]
    labels = [server["metadata"]["labels"] for server, _ in servers]
    is_split = any(one.get(f"{_LABEL}role") == "prefill" for one in labels)
    place = "/".join(PurePosixPath(of.path).parts[1:-1]).replace("modelserver/", "")
    for (server, copies), label in zip(servers, labels, strict=True):
        role, variant = label.get(f"{_LABEL}role", ""), label.get(f"{_LABEL}accelerator-variant", "")
        if variant == "cpu" or role not in {"", "prefill", "decode"}:
            continue
        group = server["spec"].pop("group")
        selector = server["spec"].get("nodeSelector") or {}
        for one in server["spec"]["containers"]:
            one["args"] = [_LATE.sub(r"\1\3 \2", str(word)) for word in one.get("args") or ()]
        text = {"spec": {"size": group, "workerTemplate": server}}
        yield Published(
            text=yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", **text}, sort_keys=False, width=10_000),
            title=f"{place}, {role}" if is_split else place,
            near=" ".join((*map(str, selector.values()), *remarks)),
            said={
                "role": role if is_split else "serve",
                "instances": copies,
                "vendor": label.get(f"{_LABEL}accelerator-vendor", ""),
            },
        )


def _servers(
    node: Any, copies: int, group: int, labels: Mapping[str, str]
) -> Iterator[tuple[dict[str, Any], int]]:
    """The pods of an object, each with its labels, the size of its group and the number of its copies."""
    if isinstance(node, list):
        for item in node:
            yield from _servers(item, copies, group, labels)
    if not isinstance(node, dict):
        return
    copies *= int(node.get("replicas", 1)) * int(node.get("slices", 1))
    group = int(node.get("size", group)) if "workerTemplate" in node else group
    labels = {**labels, **((node.get("metadata") or {}).get("labels") or {})}
    if isinstance(node.get("containers"), list):
        main = {name: node[name] for name in ("nodeSelector", "containers") if name in node}
        yield {"metadata": {"labels": dict(labels)}, "spec": {**main, "group": group}}, copies
        return
    for inner in node.values():
        yield from _servers(inner, copies, group, labels)


def primus(of: Document) -> Iterator[Published]:
    """A module of Primus: its overrides are flags of Megatron-LM."""
    content = yaml.safe_load(of.text)
    module = content["modules"]["pre_trainer"]
    model = str(module["model"]).removesuffix(".yaml")
    words = flags(module["overrides"])
    yield Published(
        text=shlex.join(["torchrun", "--nproc_per_node", "8", "Megatron-LM/pretrain_gpt.py", *words]),
        title=PurePosixPath(of.path).name,
        said={"model": model},
    )


def vllm_recipes(of: Document) -> Iterator[Published]:
    """Each variant on each machine that is verified; the first also under each strategy for one server."""
    raw = yaml.safe_load(of.text)
    taxonomy = yaml.safe_load(of.read("taxonomy.yaml") or "{}").get("hardware_profiles", {})
    for machine, standing in (raw["meta"].get("hardware") or {}).items():
        profile = taxonomy.get(machine)
        if standing != "verified" or profile is None:
            continue
        for name, variant in raw["variants"].items():
            if machine not in (variant.get("supported_hardware") or [machine]):
                continue
            needs = variant.get("precision_hardware") or _FORMATS.get(variant.get("precision"), {})
            if any(profile.get(name) != wanted for name, wanted in needs.items()):
                continue
            plans = [one for one in raw["compatible_strategies"] if one.startswith("single_node")]
            first = raw.get("default_strategy") or ("single_node_tp" if "single_node_tp" in plans else "")
            for strategy in plans:
                if name == "default" or strategy == (first or plans[0]):
                    yield from _vllm_recipe(raw, machine, profile, name, variant, strategy, of.read)


def _vllm_recipe(
    raw: Mapping[str, Any],
    machine: str,
    profile: Mapping[str, Any],
    name: str,
    variant: Mapping[str, Any],
    strategy: str,
    read: Read,
) -> Iterator[Published]:
    """The rules of the project's own page: a size that is declared, one device if it has room, else all."""
    plan = yaml.safe_load(read(f"strategies/{strategy}.yaml") or "{}")
    count, keys = profile["gpu_count"], (machine, profile["generation"], profile["brand"].lower())
    own = (raw.get("strategy_overrides") or {}).get(strategy) or {}
    size, is_declared = count, False
    if strategy == "single_node_tp":
        needed, each = variant.get("vram_minimum_gb") or 0, profile["vram_gb"] / count
        size = 1 if 0 < needed <= each else count
        for declared in (own.get("tp"), variant.get("tp")):
            chosen = (
                next((declared[k] for k in (*keys, "default") if k in declared), None)
                if isinstance(declared, dict)
                else declared
            )
            size, is_declared = (min(chosen, count), True) if chosen else (size, is_declared)
    if size * (profile["vram_gb"] / count) < (variant.get("vram_minimum_gb") or 0) or (
        size < 2 and strategy != "single_node_tp"
    ):
        return
    layers = [raw["model"], variant, plan, own]
    for one in (raw, variant, own):
        layers += [
            (one.get("hardware_overrides") or {})[k]
            for k in reversed(keys)
            if k in (one.get("hardware_overrides") or {})
        ]
    words = [plan.get("parallel_flag", "--tensor-parallel-size"), str(size)]
    exported: dict[str, Any] = {}
    for one in layers:
        for key in ("base_args", "vllm_args", "extra_args"):
            words += map(str, one.get(key) or ())
        for key in ("base_env", "env", "extra_env"):
            exported |= one.get(key) or {}
    if len(words) == 2 and not exported and not is_declared:
        return  # only a size, and that by the page's own rule
    model = variant.get("model_id") or raw["model"]["model_id"]
    yield Published(
        text=command(["vllm", "serve", model, *words], exported),
        title=f"{name}, {strategy}",
        near=machine.replace("_", "-"),
        said={
            "precision": str(variant.get("precision", "")),
            "devices": size,
            "sized": strategy == "single_node_dep",
            "version": str(variant.get("min_vllm_version") or raw["model"]["min_vllm_version"]),
            "hardware": re.sub(r"-\dx$|^dgx-spark-", "", machine.replace("_", "-")),
        },
    )


def cookbook(of: Document) -> Iterator[Published]:
    """Each model of SGLang's cookbook on each chip, in each of its configurations."""
    release = PurePosixPath(of.path).parent.name.removeprefix("v")
    for family in yaml.safe_load(of.text)["families"]:
        for model in family["models"]:
            for chip, machine in (model.get("hardware") or {}).items():
                for one in machine["configurations"]:
                    path_of = one.get("quantized_model_path") or model["model_path"]
                    for role in ("engine", "prefill", "decode"):
                        if (engine := one.get(role)) is None:
                            continue
                        words = [
                            word
                            for name in ("tp", "dp", "ep")
                            if engine.get(name)
                            for word in (f"--{name}", str(engine[name]))
                        ]
                        words += ["--enable-dp-attention"] * bool(engine.get("enable_dp_attention"))
                        words += map(str, engine.get("extra_args") or ())
                        words += ["--disaggregation-mode", role] * (role != "engine")
                        yield Published(
                            text=command(
                                ["python", "-m", "sglang.launch_server", "--model-path", path_of, *words],
                                engine.get("env_vars") or {},
                            ),
                            title=f"{model['name']}, {one['name']}, {one['attributes']['optimization']}",
                            said={
                                "hardware": chip,
                                "version": release,
                                "precision": one["attributes"]["quantization"],
                                "sized": one["attributes"]["optimization"] == "high-throughput",
                            },
                        )


def scenarios(of: Document) -> Iterator[Published]:
    """SGLang's configurations by scenario."""
    raw = yaml.safe_load(of.text)
    labels = {one["id"]: one.get("subtitle", "") for one in raw["ui_options"]["scenario"]}
    for one in raw["configs"]:
        load = re.search(r"(\d+)\s*$", labels.get(one["scenario"], ""))
        given = dict(one["parameters"])
        exported = dict(word.split("=", 1) for word in str(given.pop("env_vars", "")).split())
        yield Published(
            text=command(
                ["python", "-m", "sglang.launch_server", *flags(given, dash=True)],
                exported,
            ),
            title=f"{one['scenario']}, {one['gpu_count']} devices",
            said={
                "hardware": one["hardware"],
                "precision": one["quantization"],
                "version": raw["version"].removeprefix("v"),
                "sized": False,
                "context": {"concurrency": int(load[1])} if load else {},
            },
        )


def tensorrt(of: Document) -> Iterator[Published]:
    """A file of TensorRT-LLM: its index says for which model and chips, or its own path with its load."""
    parts, name = PurePosixPath(of.path).parts, PurePosixPath(of.path).name
    if (cell := _CELL.match(PurePosixPath(of.path).stem)) is not None and len(parts) > 5:
        said: dict[str, Any] = {
            "hardware": parts[-2].partition("_")[0],
            "devices": int(cell[3]),
            "context": {
                "input_len": int(cell[1] or 1) * 1024,
                "output_len": int(cell[2]) * 1024,
                "concurrency": int(cell[4]),
            },
        }
        yield Published(
            text=f"trtllm-serve {parts[-4]}/{parts[-3]} --config {name}",
            files={name: of.text},
            title=name,
            said=said,
        )
        return
    index = yaml.safe_load(of.read("examples/configs/curated/lookup.yaml") or "[]")
    for row in index:
        if row["config_path"] == of.path:
            for chip in row["gpu_compatibility"].split(", "):
                yield Published(
                    text=f"trtllm-serve {row['model']} --config {name}",
                    files={name: of.text},
                    title=f"{name}, {row['scenario']}",
                    said={"hardware": "" if chip == "Any" else chip},
                )


def bridge(of: Document) -> Iterator[Published]:
    """A function of Megatron-Bridge: what it assigns to model and training, as Megatron-LM's flags."""
    for item in ast.parse(of.text).body:
        if not isinstance(item, ast.FunctionDef) or (found := _GPUS.search(item.name)) is None:
            continue
        given: dict[str, Value] = {}
        exported: dict[str, Any] = {}
        for line in item.body:
            if not isinstance(line, ast.Assign) or len(line.targets) != 1:
                continue
            parts = ast.unparse(line.targets[0]).split(".")
            if (
                isinstance(line.value, ast.Constant)
                and len(parts) == 3
                and parts[1] in {"model", "train", "ddp", "optimizer"}
            ):
                given[parts[2]] = line.value.value  # type: ignore[assignment]
            elif parts[1:] == ["env_vars"] and isinstance(line.value, ast.Dict):
                exported |= {
                    str(k.value): v.value
                    for k, v in zip(line.value.keys, line.value.values, strict=True)
                    if isinstance(k, ast.Constant) and isinstance(v, ast.Constant)
                }
        stem = item.name[: found.start()]
        task = _ROLE.search(stem)
        yield Published(
            text=command(
                [
                    "torchrun",
                    "--nproc_per_node",
                    found[1],
                    "Megatron-LM/pretrain_gpt.py",
                    *flags(given, dash=True),
                ],
                exported,
            ),
            line=item.lineno,
            title=item.name,
            said={
                "model": stem[: task.start()] if task else stem,
                "hardware": found[2],
                "precision": found[3].partition("_")[0],
                "role": "train" if task and task[1] == "pretrain" else "finetune",
                "devices": int(found[1]),
            },
        )


def maxtext(of: Document) -> Iterator[Published]:
    """A script that hands MaxText its arguments in a variable; its folder names the chips."""
    given = re.search(r'^MAXTEXT_ARGS="\\?\n?(.*?)"', of.text, re.MULTILINE | re.DOTALL)
    flags = re.search(r'^XLA_FLAGS="(.*?)"', of.text, re.MULTILINE | re.DOTALL)
    shape = re.search(r"tpu\w+-(\d+(?:x\d+)+)|v\w+-(\d+)", of.path)
    if given is not None and shape is not None:
        words = given[1].replace("\\\n", " ").split()
        exported = {"LIBTPU_INIT_ARGS": " ".join(flags[1].replace("\\\n", " ").split())} if flags else {}
        yield Published(
            text=command(["python3", "-m", "MaxText.train", *words], exported),
            title=PurePosixPath(of.path).parts[-3],
            said={"devices": math.prod(map(int, (shape[1] or shape[2]).split("x")))},
        )


FORMS: Mapping[str, Callable[[Document], Iterator[Published]]] = {
    form.__name__: form
    for form in (
        launches,
        file,
        overrides,
        performance,
        mad,
        bench,
        kustomization,
        primus,
        vllm_recipes,
        cookbook,
        scenarios,
        tensorrt,
        bridge,
        maxtext,
    )
}
