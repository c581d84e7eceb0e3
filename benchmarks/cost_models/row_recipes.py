"""Completes the run of a published row from the shipped recipes of its document.

A row of a test names its file. The recipes of the same file state what the row leaves out: whether drafts are
captured, whether the next iteration is scheduled while one runs, and how the engines that decode are split where
others prefill.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from benchmarks.worlds.shipped import NotExpressibleError
from kg.nouns.recipe import Recipe, Role
from kg.nouns.values import Value
from recommender.cost_model.settings.dialects import translate
from recommender.store.shipped_knowledge import recipes

SWITCHES = (
    "async_scheduling", "draft_graph", "fused_dispatch", "sequence_parallel", "captured_rows", "graph",
    "index_parallel", "engines", "draft_method",
)  # fmt: skip
"""Settings that a row leaves out and its recipe states."""
DEGREES = ("data_parallel", "tensor_parallel", "pipeline_parallel", "context_parallel")
"""Degrees whose product is the devices of a training."""
OF_PREFILL = ("index_parallel",)
"""Those of them that act on a prefill alone: of engines apart, the ones that prefill state them."""


@dataclass(frozen=True, slots=True)
class RecipeRun:
    """A run as the recipes of its document have it.

    Attributes:
        stated: Sizes in the words of a row: ``tp``, ``dp``, ``max_num_seqs``, ``max_batched``, ``spec``.
        settings: Of the cost model, over those that follow from the row.
        devices: Of all roles.
    """

    stated: Mapping[str, int]
    settings: Mapping[str, object]
    devices: int


def recipe_of(row: Mapping[str, str]) -> RecipeRun | None:
    """The run of a row by the recipes of its document; None where none ships.

    Raises:
        NotExpressibleError: The document runs such a configuration, but measures nothing of it.
    """
    if not row["config"].startswith("{"):
        return None
    given = json.loads(row["config"])
    eager = bool(given.get("eager")) and not given.get("graph")
    return recipe_run(row["source"], eager=eager, apart=bool(given.get("pd")))


def recipe_run(source: str, *, eager: bool, apart: bool) -> RecipeRun | None:
    """The run of a row by the recipes of its document; None where none ships.

    Args:
        source: Of the row: ``github:OWNER/NAME@COMMIT:PATH#DATASET``.
        eager: Whether the row says that nothing was captured.
        apart: Whether it says that engines prefill apart.

    Raises:
        NotExpressibleError: The document runs such a configuration, but measures nothing of it.
    """
    held = _of_documents().get(_document(source), ())
    if apart:
        decoding = [one for one in held if one.role == Role.DECODE]
        prefilling = [one for one in held if one.role == Role.PREFILL]
        return _split_run(prefilling[0], decoding[0]) if decoding and prefilling else None
    alike = [one for one in held if one.role == Role.SERVE and _is_eager(one) == eager]
    if not alike:
        return None
    timed = [one for one in alike if "concurrency" in one.context]
    if not timed:
        raise NotExpressibleError("its test has no benchmark")
    return _whole_run(timed[0])


def trained_settings(row: Mapping[str, str], model: str, server: str) -> Mapping[str, object] | None:
    """The layout of a training row that states none: that of its program's own recipe for the model.

    The recipe is of the same task and servers, and of the row's devices and length where it states them.
    """
    tuned = "tune" in row["config"]
    for one in recipes():
        path = str(one.source.url).rsplit("/", maxsplit=1)[-1]
        if one.framework != row["framework"].lower() or one.model != model or path.startswith("predict"):
            continue
        if one.role != (Role.FINETUNE if tuned else Role.TRAIN) or not server.endswith(
            str(one.hardware)[-2:]
        ):
            continue
        told: dict[str, Value] = {item.key: item.value for item in one.settings}
        layout = translate(told, "training", count=one.devices).settings
        degrees = [int(str(layout.get(name, 1))) for name in DEGREES]
        devices = math.prod(degrees) if "data_parallel" in layout else one.devices
        found = {**translate(told, "training", count=devices).settings, "devices": devices}
        if row["n_devices"] in {"", str(devices)} and row["seq_in"] in {"", str(found.get("seq_len"))}:
            return found
    return None


def _whole_run(recipe: Recipe) -> RecipeRun:
    told = _told(recipe)
    return RecipeRun(_stated(recipe, told), _switches(told), recipe.devices)


def _split_run(ahead: Recipe, behind: Recipe) -> RecipeRun:
    """Engines that prefill, and those that decode, each with a layout of its own."""
    told = _told(behind)
    stated = _stated(behind, told)
    first = _told(ahead)
    if "chunk" in first:
        stated["max_batched"] = int(str(first["chunk"]))
    engines = _size(ahead, "dp")
    settings = _switches(told) | {name: first[name] for name in OF_PREFILL if name in first} | {
        "data_parallel": _size(behind, "dp") + engines, "prefill_engines": engines,
        "prefill_tensor_parallel": _size(ahead, "tp"), "separation": "separate",
        "expert_parallel": _size(behind, "ep"),
    }  # fmt: skip
    return RecipeRun(stated, settings, ahead.devices + behind.devices)


def _switches(told: Mapping[str, object]) -> dict[str, object]:
    return {name: told[name] for name in SWITCHES if name in told}


def _stated(recipe: Recipe, told: Mapping[str, object]) -> dict[str, int]:
    words = {"max_num_seqs": "batch", "max_batched": "chunk", "spec": "speculative_tokens"}
    found = {word: int(str(told[name])) for word, name in words.items() if name in told}
    return {"tp": _size(recipe, "tp"), "dp": _size(recipe, "dp"), "pp": _size(recipe, "pp")} | found


def _size(recipe: Recipe, name: str) -> int:
    size = recipe.layout.get(name, 1)
    return size if isinstance(size, int) else 1


def _told(recipe: Recipe) -> Mapping[str, object]:
    """Settings of the cost model that a recipe states."""
    told: dict[str, Value] = {item.key: item.value for item in recipe.settings}
    return translate(told, "serving", count=recipe.devices).settings


def _is_eager(recipe: Recipe) -> bool:
    return _told(recipe).get("graph") == 0


@cache
def _of_documents() -> Mapping[tuple[str, str], tuple[Recipe, ...]]:
    """Shipped recipes by repository and path of the document that they are from."""
    found: dict[tuple[str, str], list[Recipe]] = defaultdict(list)
    for one in recipes():
        if known := re.match(r"https://github\.com/([^/]+/[^/]+)/blob/[^/]+/([^#]+)", one.source.url or ""):
            found[known[1], known[2]].append(one)
    return {name: tuple(held) for name, held in found.items()}


def _document(source: str) -> tuple[str, str]:
    """Repository and path that the source of a row names."""
    known = re.match(r"github:([^@:]+)@[^:]+:([^#]+)", source)
    return (known[1], known[2]) if known else ("", "")
