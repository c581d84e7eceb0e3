"""Measures an audit on official recipes: costs planted into them, and findings on them as they are.

``python -m benchmarks.answers.findings --asked DIR [--asked DIR ...]`` writes each recipe of ``recipes.jsonl`` as a
script and audits it, once as it was published and once for each kind of cost that goes with its program. A planted cost
is found where a finding stands on the planted setting. Findings on recipes as they are count as false until an expert
reads them: they are printed by rule, with how often, so that they can be read. Kinds and rules were written by people,
so nothing is fitted; the draw of families rotates which recipes are asked.
"""

import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import harness
from benchmarks.worlds.recipe_rows import question_of
from benchmarks.worlds.world import fresh_workspace
from ingest.questions.launches.running import RunningSetting
from kg.errors import TuningError
from kg.nouns.audit import FindingLevel
from kg.nouns.setting import SettingPlace
from kg.terms.meanings import table
from kg.terms.purposes import plain_key
from recommender.audit.finding import SettingFinding
from recommender.workspace.workspace import Workspace

VLLM, SGLANG, MEGATRON = ("vllm", "vllm-ascend"), ("sglang",), ("megatron-lm", "mindspeed-llm")
ALL = ("vllm", "vllm-ascend", "sglang", "megatron-lm", "mindspeed-llm")
HARDWARE = {"nvidia-h100": "h100-sxm", "nvidia-a100": "a100-sxm4-80gb"}
"""Devices that recipes name by their family."""
LEFT_OUT = tuple(table("left_out")["place"])
"""Flags that recipes leave out, as they say where something is: a launch has some value of them."""
PLACES = {"env": SettingPlace.ENV, "flag": SettingPlace.FLAG, "json": SettingPlace.JSON}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A kind of cost.

    Attributes:
        kind: Its name.
        setting: What is planted: a flag, a variable or the path of a field.
        value: Its value; ``"true"`` for a switch.
        programs: Where it goes.
        vendor: Node of the hardware tree that it goes with; empty for any.
        phases: Phases of recipes that it goes with.
        facts: Facts that are told with the question, for limits.
        without: Part of a name; it is not planted beside a setting that has it.
        room: It costs only where the memory has room: planted where little of it is used.
    """

    kind: str
    setting: str
    value: str = "true"
    programs: tuple[str, ...] = ALL
    vendor: str = ""
    phases: tuple[str, ...] = ("serve", "train", "finetune")
    facts: tuple[tuple[str, float], ...] = ()
    room: bool = False
    without: str = ""


KINDS = (
    Planted(kind="eager mode", setting="--enforce-eager", programs=VLLM, phases=("serve",)),
    Planted(kind="graphs off", setting="--disable-cuda-graph", programs=SGLANG, phases=("serve",)),
    Planted(kind="graph mode none", setting="compilation_config.cudagraph_mode", value="NONE", programs=VLLM, phases=("serve",)),
    Planted(kind="overlap off", setting="--disable-overlap-schedule", programs=SGLANG, phases=("serve",), without="speculative"),
    Planted(kind="prefix cache off", setting="--no-enable-prefix-caching", programs=VLLM, phases=("serve",), facts=(("shared_prefix_share", 0.6),)),
    Planted(kind="radix cache off", setting="--disable-radix-cache", programs=SGLANG, phases=("serve",), facts=(("shared_prefix_share", 0.6),)),
    Planted(kind="NPU launch blocking", setting="ASCEND_LAUNCH_BLOCKING", value="1", vendor="huawei"),
    Planted(kind="CUDA launch blocking", setting="CUDA_LAUNCH_BLOCKING", value="1", vendor="nvidia"),
    Planted(kind="task queue off", setting="TASK_QUEUE_ENABLE", value="0", vendor="huawei"),
    Planted(kind="log level", setting="ASCEND_GLOBAL_LOG_LEVEL", value="0", vendor="huawei"),
    Planted(kind="peer access off", setting="NCCL_P2P_DISABLE", value="1", vendor="nvidia"),
    Planted(kind="checks of collectives", setting="TORCH_DISTRIBUTED_DEBUG", value="DETAIL"),
    Planted(kind="deterministic collectives", setting="HCCL_DETERMINISTIC", value="true", vendor="ascend-a2"),
    Planted(kind="one sequence", setting="--max-num-seqs", value="1", programs=VLLM, phases=("serve",)),
    Planted(kind="little memory", setting="--gpu-memory-utilization", value="0.4", programs=VLLM, phases=("serve",)),
    Planted(kind="small token budget", setting="--max-num-batched-tokens", value="256", programs=VLLM, phases=("serve",)),
    Planted(kind="weights on the host", setting="--cpu-offload-gb", value="20", programs=VLLM, phases=("serve",), room=True),
    Planted(kind="32 bit", setting="--dtype", value="float32", programs=(*VLLM, *SGLANG), phases=("serve",)),
    Planted(kind="plain attention", setting="--attention-backend", value="torch_native", programs=SGLANG, phases=("serve",)),
    Planted(kind="full recomputation", setting="--recompute-granularity", value="full", programs=MEGATRON, room=True),
    Planted(kind="profiler", setting="--profile", programs=MEGATRON),
    Planted(kind="misspelt flag", setting="--max-model-lenght", value="8192", programs=VLLM, phases=("serve",)),
    Planted(kind="misspelt variable", setting="VLLM_ASCEND_ENABLE_FLASHCOM1", value="1", programs=("vllm-ascend",), phases=("serve",)),
    Planted(kind="removed flag", setting="--num-scheduler-steps", value="8", programs=VLLM, phases=("serve",)),
    Planted(kind="no such choice", setting="--kv-cache-dtype", value="fp9", programs=SGLANG, phases=("serve",)),
    Planted(kind="limit below the load", setting="--max-num-seqs", value="16", programs=VLLM, phases=("serve",), facts=(("concurrency", 400),)),
    Planted(kind="length below the request", setting="--max-model-len", value="2048", programs=VLLM, phases=("serve",), facts=(("input_len", 6000), ("output_len", 1000))),
)  # fmt: skip


def main() -> None:
    """Print the figures; the last line is JSON."""
    run = harness.read(
        __doc__,
        harness.place("--asked", action="append", help="folder with recipes.jsonl"),
        quick="three recipes of each kind, and the recipes as they are of a fifth of the families",
    )
    rows = [row for folder in run.asked for row in harness.json_rows(folder / "recipes.jsonl")]
    if not rows:
        harness.refuse("no recipes.jsonl is there: name the folders that hold them")
    families = run.draw("family", (str(row["family"]) for row in rows))
    asked = [row for row in rows if str(row["family"]) in families]
    with fresh_workspace() as workspace:
        found = plant(workspace, asked, most=3 if run.quick else 12)
        clean = as_published(workspace, asked)
    shares = {kind: harness.mean(hits) for kind, hits in found.items()}
    figures: dict[str, Any] = {
        "planted_found": harness.mean(hit for hits in found.values() for hit in hits),
        "kinds_found": sum(1 for share in shares.values() if share is not None and share >= 0.9),
        "kinds": len(shares),
        "by_kind": {kind: {"found": shares[kind], "n": len(hits)} for kind, hits in found.items()},
        **clean,
    }
    run.last_line(figures, n=len(asked))


def plant(workspace: Workspace, rows: Sequence[Mapping[str, Any]], *, most: int) -> dict[str, list[bool]]:
    """Audit launches with planted costs; True for each that was found, by kind."""
    found: dict[str, list[bool]] = {}
    for planted in KINDS:
        hits: list[bool] = []
        for row in rows:
            if len(hits) == most:
                break
            if not _goes_with(planted, row, workspace):
                continue
            place = _place_of(planted.setting)
            running = [item for item in running_of(row) if plain_key(item.key) != plain_key(planted.setting)]
            running.append(RunningSetting(key=planted.setting, value=planted.value, place=place, line=1))
            raw = raw_of(row)
            for fact, value in planted.facts:
                raw["shape" if fact.endswith("_len") else "traits"][fact] = value
            findings = audit(workspace, raw, running)
            if findings is None or (planted.room and not _has_room(row, workspace)):
                continue
            matter = [item for item in findings if item.level is not FindingLevel.NOTE]
            hits.append(any(item.setting.key == planted.setting for item in matter))
        if hits:
            found[planted.kind] = hits
    return found


def as_published(workspace: Workspace, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Recipes with a finding as they are, and what was found."""
    rules: Counter[str] = Counter()
    settings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    asked = accused = refused = warned = 0
    for row in rows:
        findings = audit(workspace, raw_of(row), running_of(row))
        if findings is None:
            refused += 1
            continue
        asked += 1
        matter = [item for item in findings if item.level is not FindingLevel.NOTE]
        warned += bool(matter)
        accused += any(item.level is FindingLevel.ERROR for item in findings)
        for item in matter:
            rules[item.rule] += 1
            settings[item.rule][
                f"{row['id'][-50:]} {row['framework']} {item.text} {item.level} {item.says['en'][:90]}"
            ] += 1
    for rule in rules:
        for text, times in settings[rule].most_common(12):
            print(f"  {rule}: {times} x {text}")
    return {
        "recipes": asked,
        "recipes_refused": refused,
        "errors_share": harness.mean([1.0] * accused + [0.0] * (asked - accused)),
        "findings_share": harness.mean([1.0] * warned + [0.0] * (asked - warned)),
        "findings_by_rule": dict(rules.most_common()),
    }


def audit(
    workspace: Workspace, raw: Mapping[str, Any], running: Sequence[RunningSetting]
) -> tuple[SettingFinding, ...] | None:
    """The findings on a launch; None where the question is refused."""
    try:
        return workspace.launches.check(raw, running).findings
    except TuningError as error:
        print(f"refused: {error}")
        return None


def running_of(row: Mapping[str, Any]) -> list[RunningSetting]:
    """The settings of a recipe as those of a launch."""
    paths = (
        RunningSetting(key=f"--{name}", value="", place=SettingPlace.FLAG, is_known=False)
        for name in LEFT_OUT
    )
    return [
        *paths,
        *_stated(row),
    ]


def _stated(row: Mapping[str, Any]) -> Iterator[RunningSetting]:
    return (
        RunningSetting(
            key=item["key"].lstrip("-") if "." in item["key"] else item["key"],
            value=" ".join(shlex.split(str(item["value"])))
            if '"' not in str(item["value"])
            else str(item["value"]),
            place=SettingPlace.JSON
            if "." in item["key"] and item["where"] == "flag"
            else PLACES.get(item["where"], SettingPlace.YAML),
            line=number,
        )
        for number, item in enumerate(row["settings"], 1)
    )


def raw_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The question that a recipe's launch asks."""
    raw, version = question_of(row, ("seq_len",)), str(row.get("framework_version") or "")
    copies = row.get("instances") or 1
    return raw | {
        "hardware": HARDWARE.get(row["hardware_node"], row["hardware_node"]),
        "traits": {name: -(-load // copies) for name, load in raw["traits"].items()},
        "software": {row["framework"]: "" if _is_open(version) else version},
        "current": {
            item["key"].lstrip("-"): item["value"] for item in row["settings"] if item["where"] != "json"
        },
    }


def _is_open(version: str) -> bool:
    """True if a recipe names no one release: a lower bound, or a build without a number."""
    return ">=" in version or version.startswith("0.0.0")


def _goes_with(planted: Planted, row: Mapping[str, Any], workspace: Workspace) -> bool:
    node = str(row["hardware_node"] or "")
    above = workspace.hardware.path(node) if node else ()
    return (
        row["framework"] in planted.programs
        and row["phase"] in planted.phases
        and (not planted.vendor or planted.vendor in above)
        and not (planted.without and any(planted.without in item["key"] for item in row["settings"]))
    )


def _has_room(row: Mapping[str, Any], workspace: Workspace) -> bool:
    """True if the memory surely holds the work without recomputation or offloading, by arithmetic alone.

    Served weights take less than half. A dense model in training needs 18 bytes a parameter, and 34 bytes a token,
    hidden unit and layer for activations (Korthikanti et al., Reducing Activation Recomputation in Large Transformer
    Models, 2022), both over its tensor and pipeline ranks alone: less than 0.6.
    """
    try:
        problem, _ = workspace.ask.questions.problem(raw_of(row))
    except TuningError:
        return False
    facts, layout = workspace.ask.model_facts(problem), row["layout"]
    parameters = facts.get("parameters")
    memory = workspace.hardware.facts(problem.hardware.name).get("memory_bytes")
    if not isinstance(parameters, int | float) or not isinstance(memory, int | float):
        return False
    if row["phase"] == "serve":
        return 2 * parameters < 0.5 * memory * (problem.hardware.count or 1)
    named = (facts.get("layers"), facts.get("hidden_size"), (row.get("context") or {}).get("seq_len"))
    sizes = [float(size) for size in named if isinstance(size, int | float)]
    micro = str(layout.get("micro_batch") or "")
    if facts.get("experts") or not micro.isdigit() or len(sizes) < len(named):
        return False
    tensors, stages = int(layout.get("tp") or 1), int(layout.get("pp") or 1)
    activations = 34 * int(micro) * math.prod(sizes) / tensors  # of all stages' first
    return 18 * parameters / (tensors * stages) + activations < 0.6 * memory


def _place_of(setting: str) -> SettingPlace:
    if setting.startswith("-"):
        return SettingPlace.FLAG
    return SettingPlace.JSON if "." in setting else SettingPlace.ENV


if __name__ == "__main__":
    main()
