"""Rows of ``recipes.jsonl`` as truths: their task, their sizes, and what of their settings tunes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ingest.questions.launches.megatron import stated_network
from ingest.questions.launches.options import parse_options
from kg.nouns.recipe import experts_spread
from kg.nouns.release import release_key
from kg.nouns.setting import SettingPlace
from kg.terms.meanings import variant_of
from kg.terms.purposes import Purpose, plain_key, purpose
from kg.triples.model_finder import DECISIVE

PHASES = {
    "serve": "serving",
    "train": "training",
    "finetune": "training",
    "prefill": "prefill",
    "decode": "decode",
}
PLACES = {"override": SettingPlace.YAML, "feature": SettingPlace.FLAG}
"""Where a setting stands, by names that other collections have for it."""

Pairs = dict[str, str]


LENGTHS = ("input_len", "output_len", "seq_len")


def question_of(row: Mapping[str, Any], lengths: Sequence[str] = LENGTHS) -> dict[str, Any]:
    """The question of a recipe's situation, as a workspace reads one: its model, devices, program and context."""
    context = row.get("context") or {}
    load = context.get("concurrency")
    return {
        "model": row["model"], "phase": PHASES[row["phase"]], "hardware": row["hardware_node"],
        "count": (row["devices"] or 1) // (row.get("instances") or 1) or 1,
        "shape": {name: context[name] for name in lengths if isinstance(context.get(name), int | float)},
        "traits": {"concurrency": load} if isinstance(load, int) else {},
        "software": {row["framework"]: row["framework_version"]},
    }  # fmt: skip


def task_of(row: dict[str, Any]) -> str:
    """The task of a row: ``train`` or ``serve``."""
    return "train" if PHASES[row["phase"]] == "training" else "serve"


def software_of(row: dict[str, Any]) -> dict[str, str]:
    """The program of a recipe, as the variant that its settings are of, and its release where it names one."""
    try:
        release_key(release := str(row["framework_version"] or ""))
    except ValueError:  # "see page"
        release = ""
    settings = {item["key"]: item["value"] for item in row["settings"]}
    return {variant_of(row["framework"], settings): release}


def network_of(row: dict[str, Any]) -> dict[str, object]:
    """The sizes of the network, where the recipe's script states them as flags."""
    flags = ((s["key"], s["value"]) for s in row["settings"] if s["where"] == "flag")
    words = [word for key, value in flags for word in ([key] if value == "true" else [key, value])]
    sizes = stated_network(parse_options(words))
    return {"sizes": sizes} if set(DECISIVE) <= sizes.keys() else {}


def degrees_of(row: dict[str, Any]) -> dict[str, int]:
    """Its parallel sizes; where data splits attention, ``tp`` is what is left of it."""
    sizes = {name: int(row["layout"].get(name) or 1) for name in ("tp", "pp", "dp", "cp")}
    settings = {item["key"]: item["value"] for item in row["settings"]}
    stated = {name: size for name, size in row["layout"].items() if size is not None}
    sizes["ep"] = experts_spread(row["framework"], stated, settings)
    if row["layout"].get("dp_attention") and sizes["dp"] > 1:
        sizes["tp"] = max(sizes["tp"] // sizes["dp"], 1)
    return sizes


def tuning(settings: Iterable[tuple[str, str, object]]) -> Pairs:
    """Settings that tune, by place and plain key; of a key that stands twice the last."""
    return {
        f"{where}:{plain_key(key)}": str(value).lower()
        for where, key, value in settings
        if purpose(key) is Purpose.TUNING
    }


def text_of(value: object) -> str:
    """A value as recipes write it."""
    return "true" if value is None or value is True else "false" if value is False else str(value)


def alike(one: str, other: str) -> bool:
    """Equal, or numbers within a factor of two: sizes that follow from lengths and memory."""
    if one == other:
        return True
    try:
        first, second = float(one), float(other)
    except ValueError:
        return False
    return first * second > 0 and 0.5 <= first / second <= 2
