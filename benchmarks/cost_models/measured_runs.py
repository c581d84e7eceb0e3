"""Measures the error on runs that state their layout: served loads of GPUs and training steps.

    python -m benchmarks.cost_models.measured_runs --asked FILE...

A file has one run a row: of serving with its load and the time of an output token (``mean_tpot_ms``), or of training
with the time of a step (``step_ms``; ``docs/figures-notes.md``). Physics alone answers: nothing is fitted to these rows,
though they were in view. What a row leaves open is the fastest that fits. ``fits`` is the share of runs, all of which
ran, that memory has room for. Figures are by framework, those of training also by what the run was for: ``tuned`` are
the runs that their publisher tuned for speed. A row without its model, its device or a size is a refusal.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.cost_models.published_cases import device_named
from benchmarks.cost_models.published_question import priced_format
from benchmarks.worlds.shipped import NotExpressibleError, ShippedKnowledge, expressible
from recommender.cost_model.estimate import estimate
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.fit.measurements import read_rows
from recommender.cost_model.machine import Machine
from recommender.cost_model.settings.dialects import translate

SERVERS = {"A2": ("ascend-910b1", "atlas-800t-a2"), "A3": ("ascend-910c", "atlas-800t-a3")}
NAMES = {"H100": "h100-sxm"}
DEGREES = {"tp": "tp", "pp": "pp", "cp": "cp", "ep": "ep", "etp": "etp", "vpp_layers": "vp"}
KEPT = ("none", "selective", "full")
TUNED = "pretrain_performance"
CUT = "cut in layers"
"""Stands in the note of a row whose model has fewer layers than its name says."""
USUAL = "0.5.8"
"""Release of SGLang that most pages of one commit state: that of a page that states none."""
RANK = 8
"""Rank of adapters where a row has none: the default of PEFT."""


@dataclass(frozen=True, slots=True)
class RunScore:
    """One run beside what was measured.

    Attributes:
        group: Its framework, and what it was for.
        model: Its model, which a seed draws.
        measured: Milliseconds.
        ours: Likewise.
        fits: Whether memory has room for it.
    """

    group: str
    model: str
    measured: float
    ours: float
    fits: bool


def score(row: Mapping[str, str], known: ShippedKnowledge) -> RunScore:
    """The price of a row beside its measured time.

    Raises:
        NotExpressibleError: What it leaves out.
        TuningError: A fact that is not known, or a layout that cannot be.
    """
    served = "mean_tpot_ms" in row
    measured = row["mean_tpot_ms"] if served else row["step_ms"]
    if not measured:
        raise NotExpressibleError("no time measured")
    model = known.model(row["model"])
    name = row["hardware"]
    count = int(row["devices"])
    where = known.machine(*(SERVERS[name][0], count, SERVERS[name][1])) if name in SERVERS else device_named(
        {"name": NAMES.get(name, name)}, count, known
    )  # fmt: skip
    if served:
        stored = priced_format(row["model"]) or str(known.model_facts(model.id).get("weight_format", "bf16"))
        settings = [served_settings(row, where.device.computed_precision(stored))]
    else:
        model, settings = trained(row, model, where)
    steps = estimate(
        model=model,
        machine=where,
        phase="serving" if served else "training",
        settings=settings,
        engine=row["framework"].lower() if served else "",
        version=release_of(row) if served else "",
    )
    times = steps.extra["tpot_s"] if served else steps.time_s
    at = int(np.argmin(np.where(steps.fits, times, times + times.max())))
    kind = "" if served else ", tuned" if row["variant"].startswith(TUNED) else f", {row['method']}"
    ours = float(times[at]) * 1e3
    return RunScore(f"{row['framework']}{kind}", model.id, float(measured), ours, bool(steps.fits[at]))


def release_of(row: Mapping[str, str]) -> str:
    """The release of the engine of a row."""
    found = re.match(r"[\d.]+(post\d+)?", row["version"])
    return found[0] if found and not row["version"].startswith("0.0") else USUAL


def served_settings(row: Mapping[str, str], precision: str) -> dict[str, object]:
    """A served load: the layout and flags that a row states, and the requests that ran at once in the mean.

    Their lengths were drawn evenly up to twice the mean.
    """
    flags = dict(re.findall(r"--([\w-]+)[ =]([^;]+)", row["server_flags"]))
    told: dict[str, Any] = {name.replace("-", "_"): value.strip() for name, value in flags.items()}
    found = dict(translate(told, "serving", program="sglang", count=int(row["devices"])).settings)
    engines = int(str(found.get("data_parallel", 1)))
    running = float(row["mean_concurrency"] or row["max_concurrency"])
    if row["accept_length"] and (drafted := float(str(found.get("speculative_tokens", 0)))):
        found["acceptance"] = (float(row["accept_length"]) - 1) / drafted
    return {
        **found, "precision": precision, "tensor_parallel": int(row["tp"] or row["devices"]) // engines,
        "batch": max(round(running / engines), 1), "length_spread": 1, "input_len": round(float(row["mean_input_tokens"])),
        "output_len": round(float(row["mean_output_tokens"])),
    }  # fmt: skip


def trained(
    row: Mapping[str, str], model: ModelSizes, where: Machine
) -> tuple[ModelSizes, list[dict[str, object]]]:
    """The model as it was cut, and every setting of its training that a row leaves open."""
    if not row["seq_len"] or not (row["global_batch"] or row["micro_batch"]):
        raise NotExpressibleError("length or batch not stated")
    if row["framework"].startswith("Megatron-Bridge") and not row["tp"]:
        raise NotExpressibleError("layout not stated")
    if CUT in row["note"] and not row["layers"]:
        raise NotExpressibleError("layers of a cut model not stated")
    layers, experts = (
        float(row[name] or size) for name, size in (("layers", model.layers), ("experts", model.experts))
    )
    model = replace(model, layers=layers, experts=experts)
    degrees: dict[str, object] = {ours: int(row[name]) for name, ours in DEGREES.items() if row[name]}
    if not model.experts:
        degrees = {name: value for name, value in degrees.items() if name not in {"ep", DEGREES["etp"]}}
    one: dict[str, object] = {
        **degrees, "seq_len": int(row["seq_len"]), "zero_stage": int(row["zero"] or (3 if row["fsdp"] else 1)),
        "precision": where.device.computed_precision(priced_format(row["precision"]) or "bf16"),
    }  # fmt: skip
    one |= {name: int(row[name]) for name in ("global_batch", "micro_batch") if row[name]}
    if row["method"] in {"lora", "peft"}:
        one["lora_rank"] = RANK
    if row["method"] == "dpo":
        one["objective_kind"] = "dpo"
    told = next((name for name in KEPT if row["recompute"].startswith(name)), "")
    return model, [{**one, "recompute": name} for name in ([told] if told else KEPT)]


def figures(scores: list[RunScore]) -> dict[str, object]:
    """Error of a group, per cent of the shorter time, and the share of its runs that fit."""
    logs = np.log([one.ours / one.measured for one in scores])
    errors = 100 * np.expm1(np.abs(logs))
    fits = harness.share([one.fits for one in scores])
    return harness.accuracy(logs.tolist(), errors.tolist()) | {"fits": fits}


def main() -> None:
    chosen = harness.read(__doc__, harness.place("--asked", nargs="+", help="measured runs"))
    known, rows = ShippedKnowledge.load(), [row for path in chosen.asked for row in read_rows(path)]
    drawn = chosen.draw("model", (row["model"] for row in rows), share=0.5)
    rows = [row for row in rows if row["model"] in drawn]
    found, refused = expressible(rows, lambda row: score(row, known))
    groups: dict[str, list[RunScore]] = defaultdict(list)
    for row, one in found:
        for name in ("served" if "mean_tpot_ms" in row else "trained", one.group):
            groups[name].append(one)
    made = {name: figures(held) for name, held in sorted(groups.items())}
    chosen.last_line({"groups": made, "refused": sum(map(len, refused.values()))}, n=len(rows))


if __name__ == "__main__":
    main()
