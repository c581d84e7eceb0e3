"""The YAML of a MindFormers task: the sizes of its network, its layout and its lengths.

Source: https://www.mindspore.cn/mindformers/docs/en/master/feature/configuration.html.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from ingest.files.content import ContentError
from ingest.questions.launches import megatron
from ingest.questions.launches.launch_facts import NOT_READ, LaunchFacts
from ingest.questions.launches.model_config import config_facts
from kg.errors import InputError
from kg.nouns.situation import FactOrigin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.questions.launches.options import LaunchOptions
    from ingest.questions.launches.program import StartedProgram

_NOT_TUNED = frozenset({"run_mode", "config"}) | megatron.NOT_TUNED
_EXPERTS: Mapping[str, str] = MappingProxyType(
    {
        "expert_num": "num_experts",
        "num_experts_chosen": "num_experts_per_tok",
        "moe_intermediate_size": "moe_intermediate_size",
        "shared_expert_num": "n_shared_experts",
        "first_k_dense_replace": "first_k_dense_replace",
    }
)
"""Keys of ``moe_config``, and what a ``config.json`` calls them."""

_SETTINGS = ("parallel_config", "recompute_config", "runner_config")
"""Sections whose values are settings."""
_BESIDE = (
    "context.mode", "parallel.parallel_mode", "parallel.enable_parallel_optimizer",
    "model.model_config.use_flash_attention",
)  # fmt: skip
"""Settings in sections that hold much else."""

MOST_FACTOR = 100
"""Largest factor of the width; a larger one, or no number, is a mistake."""
_PARALLEL = ("data_parallel", "model_parallel", "pipeline_stage", "context_parallel")


def read_launch(
    started: StartedProgram, options: LaunchOptions, environment: Mapping[str, object]
) -> LaunchFacts:
    """The facts of a launch, whose settings stand in a YAML file that it names."""
    mode = str(options.values.get("run_mode", "train"))
    question: dict[str, object] = {
        "phase": "serving" if mode in {"predict", "eval"} else "training",
        "software": {started.signs.id: ""},
    }
    if (count := started.devices("all")) is not None:
        question["count"] = count
    settings = {name: value for name, value in options.values.items() if name not in _NOT_TUNED}
    question["current"] = {**environment, **settings}
    files = (str(options.values["config"]),) if "config" in options.values else ()
    notes = [f"{NOT_READ} {name}" for name in files] + options.unreadable(_NOT_TUNED)
    for launcher in started.launchers.values():
        notes += launcher.unreadable(megatron.NOT_TUNED)
    return LaunchFacts(question=question, notes=tuple(notes), files=files)


def read_mindformers(raw: bytes, place: str) -> LaunchFacts:
    """The facts of a task's YAML.

    Raises:
        InputError: It is no YAML, or describes no model.
    """
    from ingest.files.safe_yaml import load_yaml

    try:
        content = load_yaml(raw)
    except ContentError as error:
        raise InputError(f"{place}: {error}") from None
    model = _table(_table(content, "model"), "model_config")
    if not model:
        raise InputError(f"{place}: no model.model_config: it is no configuration of MindFormers")
    experts = _table(content, "moe_config")
    described = {**model, **{name: experts[key] for key, name in _EXPERTS.items() if key in experts}}
    described.setdefault("intermediate_size", _width(model))
    described["dtype"] = model.get("compute_dtype")
    described["_name_or_path"] = _table(content, "trainer").get("model_name")
    facts = config_facts(described, place)
    mode = str(content.get("run_mode", "train")) if isinstance(content, dict) else "train"
    layout = _table(content, "parallel_config")
    sizes = [size for name in _PARALLEL if isinstance(size := layout.get(name, 1), int)]
    question: dict[str, object] = {
        **facts.question,
        "phase": "serving" if mode in {"predict", "eval"} else "training",
        "software": {"mindformers": ""},
        "current": {
            f"{section}.{name}": value
            for section in _SETTINGS
            for name, value in _table(content, section).items()
            if isinstance(value, str | int | float | bool)
        }
        | {path: value for path in _BESIDE if (value := _at(content, path)) is not None},
    }
    if isinstance(length := model.get("seq_length"), int):
        question["shape"] = {"seq_len" if question["phase"] == "training" else "input_len": length}
    if layout and len(sizes) == len(_PARALLEL):
        count = 1
        for size in sizes:
            count *= size
        question["count"] = count
    return LaunchFacts(question=question, notes=facts.notes, origin=FactOrigin.FILE)


def _width(model: Mapping[str, object]) -> int | None:
    """Width of the feed-forward block where it is not stated.

    MindFormers, ``LlamaFeedForward``: two thirds of four widths, times a factor, rounded up to a multiple.
    """
    hidden, multiple = model.get("hidden_size"), model.get("multiple_of", 256)
    factor = model.get("ffn_dim_multiplier")
    if not isinstance(hidden, int) or not isinstance(multiple, int) or multiple < 1:
        return None
    wide = 4 * hidden
    if isinstance(factor, int | float) and 0 < factor < MOST_FACTOR:
        wide = int((factor + 0.01) * wide)
    return -(-int(2 * wide / 3) // multiple) * multiple


def _at(content: object, path: str) -> bool | int | str | None:
    """The value at a path; None where there is none, or a table."""
    for name in path.split("."):
        content = content.get(name) if isinstance(content, dict) else None
    return content if isinstance(content, bool | int | str) else None


def _table(content: object, name: str) -> Mapping[str, object]:
    found = content.get(name) if isinstance(content, dict) else None
    return found if isinstance(found, dict) else {}
