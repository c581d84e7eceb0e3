"""How far off whole steps are, which signs the cost model gets right, and how fast it answers.

    python -m benchmarks.cost_models.end_to_end --evaluate CSV [--effects CSV]

The CSV has published throughputs and times of whole models (``docs/cost-model.md``). A row counts
where its model, chip, device count and sizes are known; the others are counted by what is missing.
Where a layout is not stated, the fastest one that fits is taken. A chip named without its bin
(910B) is estimated as a 24-core part. The second CSV has published gains of strategies: their signs are
compared with what the cost model says of the same change, each row that cannot be expressed with the
reason. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.cost_models.effect_settings import Comparison, balanced, compare
from benchmarks.protocols.lines import last_line
from benchmarks.worlds.shipped import NotExpressibleError, ShippedKnowledge, plain
from kg.errors import InputError, MissingFactError
from recommender.cost_model.estimate import estimate, sweep
from recommender.cost_model.workloads.inference import feeds_forward
from recommender.cost_model.workloads.steps import Steps, ceiling, speedup_without

if TYPE_CHECKING:
    from recommender.cost_model.facts.model import ModelSizes


def place(row: dict[str, str]) -> tuple[str, str]:
    """Device and server that a row names."""
    text = f"{row['hardware']} {row['chip']}".lower()
    if "310" in row["chip"]:
        return "ascend-310p", "atlas-300i-pro"  # the 310P3 is a bin of it whose peaks nobody states
    if (
        "a3" in row["hardware"].lower().split()
        or "a3 " in text
        or row["chip"] == "910C"
        or "cloudmatrix" in text
    ):
        return "ascend-910c", "atlas-800t-a3"
    if row["chip"] == "910B" or row["hardware"].startswith("A2"):
        return "ascend-910b1", "atlas-800t-a2"
    if row["chip"].startswith("Ascend 910") or row["chip"] == "Ascend910":
        return "ascend-910a", "atlas-800-9000"
    raise NotExpressibleError("chip not stated")


PER_DEVICE = re.compile(r"/(p|npu)$|per card", re.IGNORECASE)


def target(row: dict[str, str]) -> tuple[str, bool]:
    """Which of our results a row measures, and whether per device."""
    metric, unit = row["metric"].lower(), row["unit"].lower()
    if "as published" in unit or "cluster" in unit or "mfu" in metric:
        raise NotExpressibleError("unit not clear")
    if metric.startswith("prefill throughput"):
        return "prefill_throughput", True
    if metric.startswith("decode throughput"):
        return "decode", True
    if metric == "step time" and unit == "ms":
        return "time_ms", False
    if metric.startswith("ttft") and unit == "s":
        return "ttft_s", False
    if metric.startswith("tpot") and unit == "ms":
        return "tpot_ms", False
    if "throughput" in metric and (unit.startswith(("token", "fps", "images", "samples"))):
        return "throughput", bool(PER_DEVICE.search(unit))
    raise NotExpressibleError("metric not modelled")


def number(text: str) -> int:
    found = re.match(r"\d+", text or "")
    return int(found.group()) if found else 0


def training_settings(row: dict[str, str], model: ModelSizes, count: int) -> list[dict[str, object]]:
    precision = "bf16" if "bf16" in row["precision"] else "fp16"
    if not model.layers:
        each = number(row["batch"]) // count if "MLPerf" in row["family"] else number(row["batch"])
        return [{"micro_batch": max(each, 1) if row["batch"] else 64, "precision": precision}]
    length = number(row["seq_in"]) or int(model.tokens_per_image)
    if not length:
        raise NotExpressibleError("sequence length not stated")
    found = {key.lower(): int(value) for key, value in re.findall(r"\b(TP|PP|CP|DP|EP)(\d+)", row["config"])}
    micro = re.search(r"mbs(\d+)", row["config"])
    batch = re.search(r"gbs(\d+)", row["config"])
    base: dict[str, object] = {"seq_len": length, "precision": precision, "zero_stage": 1, **found}
    if micro:
        base["micro_batch"] = int(micro.group(1))
    total = int(batch.group(1)) if batch else number(row["batch"])
    if found:
        return [{**base, "global_batch": total}] if total else [base]
    axes: dict[str, list[object]] = {
        "tensor_parallel": [t for t in (1, 2, 4, 8) if t <= count],
        "pipeline_parallel": [p for p in (1, 2, 4, 8) if p <= count],
        "recompute": ["none", "full"],
        "expert_parallel": [1, 8] if model.experts else [1],
    }
    return [{**one, "global_batch": total or 16 * count} for one in sweep(base, axes)]


def serving_settings(row: dict[str, str], count: int) -> list[dict[str, object]]:
    given = json.loads(row["config"]) if row["config"].startswith("{") else {}
    precision = "int8" if re.search("w8a8|int8", row["precision"] + row["model"], re.IGNORECASE) else "bf16"
    if re.search("w4a16|w4a8", row["precision"] + row["model"], re.IGNORECASE):
        precision = "w4a16" if "w4a16" in (row["precision"] + row["model"]).lower() else "w4a8"
    replicas = int(given.get("dp", 0)) or (count // int(given["tp"]) if given.get("tp") else 0)
    expert = re.search(r"EP(\d+)", row["config"])
    if not replicas and not expert:
        raise NotExpressibleError("layout not stated")
    if expert:
        replicas = count
    running = max(number(row["batch"]) // (1 if expert else replicas), 1)
    running = min(running, int(given.get("max_num_seqs", running)))
    one: dict[str, object] = {
        "data_parallel": replicas, "batch": running, "input_len": number(row["seq_in"]) or 1024,
        "output_len": max(number(row["seq_out"]), 1), "precision": precision,
        "expert_parallel": count if given.get("ep") or expert else 1,
    }  # fmt: skip
    if "prefill" in row["config"]:
        one["prefill_batch"] = 4 if "16384 tokens" in row["batch"] else 1  # of 4096 tokens each
        one["batch"] = 1
    if given.get("spec"):
        one["speculative_tokens"] = number(str(given["spec"])) or 1
    if "MTP1" in row["config"]:
        one["speculative_tokens"] = 1
    if given.get("max_batched"):
        one["chunk"] = int(given["max_batched"])
    return [one]


def inference_settings(row: dict[str, str]) -> list[dict[str, object]]:
    """One batch of a network that answers in one pass; images arrive and leave channel first."""
    if not number(row["batch"]):
        raise NotExpressibleError("batch of an inference not stated")
    precision = "int8" if "int8" in row["precision"].lower() else "fp16"
    return [{"batch": number(row["batch"]), "precision": precision}]


@dataclass(frozen=True, slots=True)
class Point:
    """One row that could be estimated."""

    family: str
    group: str
    predicted: float
    measured: float
    spread: float


def devices_of(row: dict[str, str]) -> int:
    count = number(row["n_devices"])
    if not count and row["config"].startswith("{"):
        given = json.loads(row["config"])
        count = int(given.get("tp", 0)) * int(given.get("dp", 1))
    if not count and "800T A2" in row["hardware"] and PER_DEVICE.search(row["unit"].lower()):
        return 8  # figures per device of a server of eight
    if not count:
        raise NotExpressibleError("device count not stated")
    return count * 2 if row["hardware"] == "CloudMatrix384" else count  # its rows count cards of two dies


def best(steps: Steps) -> int:
    rate = np.where(steps.fits, steps.throughput, 0.0)
    return int(np.argmax(rate if np.any(rate > 0) else steps.throughput))


def point(row: dict[str, str], known: ShippedKnowledge) -> Point:
    """Predicted and measured value of a row.

    Raises:
        NotExpressibleError: What it leaves out.
        MissingFactError: A fact that is not known.
    """
    key, per_device = target(row)
    device, server = place(row)
    model = known.model(row["model"])
    training = row["task"] == "train"
    count = devices_of(row)
    where = known.machine(device, count, server)
    if training:
        settings = training_settings(row, model, count)
    elif feeds_forward(model):
        settings = inference_settings(row)
    else:
        settings = serving_settings(row, count)
    valid: list[dict[str, object]] = []
    for one in settings:
        try:
            estimate(model=model, machine=where, phase="training" if training else "serving", settings=[one])
        except InputError as refused:
            reason = str(refused)
            continue
        valid.append(one)
    if not valid:
        raise NotExpressibleError(f"refused: {reason.split(' (', maxsplit=1)[0]}")
    steps = estimate(model=model, machine=where, phase="training" if training else "serving", settings=valid)
    at = best(steps)
    if np.isfinite(steps.capacity_bytes) and not steps.fits[at]:
        raise NotExpressibleError("does not fit in memory as far as it is described")
    scale = count / 2 if row["hardware"] == "CloudMatrix384" else float(count)
    values = {
        "throughput": steps.throughput[at],
        "time_ms": 1e3 * steps.time_s[at],
        "ttft_s": steps.extra.get("ttft_s", steps.time_s)[at],
        "tpot_ms": 1e3 * steps.extra.get("tpot_s", steps.time_s)[at],
    }
    if key == "prefill_throughput":
        values[key] = steps.extra["prefill_throughput"][at]
    if key == "decode":
        running = float(valid[at]["batch"])  # type: ignore[arg-type]
        values[key] = scale * running * steps.extra["tokens_per_step"][at] / steps.time_s[at]
    predicted = float(values[key]) / (scale if per_device else 1.0)
    kind = f"{row['family'].split('/')[0]}, {'training' if training else 'serving'}"
    return Point(kind, row["group"], predicted, float(row["value"]), steps.spread)


def disagreement(rows: list[dict[str, str]]) -> tuple[float, float, int]:
    """Median and largest factor between published values of one model, chip, size and batch; and how many."""
    held: dict[tuple[str, ...], set[float]] = defaultdict(set)
    for row in rows:
        if row["value"] and row["metric"] == "throughput":
            key = [row[k] for k in ("chip", "task", "n_devices", "precision", "batch", "seq_in")]
            short = re.sub(r"(id\d+)?forpytorch$", "", plain(row["model"]))
            held[(short, *key)].add(float(row["value"]))
    factors = [max(v) / min(v) for v in held.values() if len(v) > 1 and min(v) > 0]
    return float(np.median(factors)), float(np.max(factors)), len(factors)


def effects(path: Path, known: ShippedKnowledge) -> dict[str, object]:
    """Signs and order of published gains, and why the other rows cannot be expressed."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    found: list[Comparison] = []
    reasons: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        try:
            found.append(compare(row, known))
        except (NotExpressibleError, MissingFactError, InputError) as reason:
            reasons[re.sub(r"^\S+: ", "", str(reason))].append(row["id"])
    print(f"{len(found)} of {len(rows)} published effects can be expressed; the others:")
    for text, held in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"  {len(held):3d}  {text}: {' '.join(held)}")
    capped = True
    for one in found:
        is_right = one.predicted * one.published > 0
        stand_ins = f" [{'; '.join(one.stand_ins)}]" if one.stand_ins else ""
        print(f"  {'right' if is_right else 'WRONG'} {one.row['id']}: {one.row['model']}: {one.row['strategy']}, "
              f"{one.row['config_change'][:40]}: {one.row['metric']} published {one.published:+.1f} %, "
              f"predicted {one.predicted:+.1f} %{stand_ins}")  # fmt: skip
        for part, spent in one.steps.split_s.items():
            share = spent / one.steps.time_s
            capped = capped and bool(np.all(speedup_without(one.steps, part) <= ceiling(share) * (1 + 1e-9)))
    stated = [one for one in found if not any(s.startswith(("model", "hardware")) for s in one.stand_ins)]
    result: dict[str, object] = {"effects": len(rows), "sign_n": len(found), "gain_below_ceiling": capped}
    for name, held_rows in (("", found), ("stated_", stated)):
        accuracy, gains, losses = balanced(held_rows)
        hits = [one.predicted * one.published > 0 for one in held_rows]
        result |= {
            f"sign_{name}n": len(held_rows), f"sign_{name}gains": gains, f"sign_{name}losses": losses,
            f"sign_{name}share": round(float(np.mean(hits)), 3) if hits else None,
            f"sign_{name}balanced_accuracy": None if accuracy is None else round(accuracy, 3),
            f"sign_{name}spearman": rank_correlation([(one.predicted, one.published) for one in held_rows]),
        }  # fmt: skip
    result |= backtest(found)
    result["inexpressible"] = {text: len(held) for text, held in reasons.items()}
    print({name: value for name, value in result.items() if name != "inexpressible"})
    return result


def backtest(found: list[Comparison]) -> dict[str, object]:
    """Whether published gains lie in 90 % intervals whose width never saw their own document."""
    logs: list[tuple[str, float]] = []
    for one in found:
        if "memory" in one.row["metric"]:
            continue
        sign = 1 if one.row["direction"].startswith("higher") else -1
        published, predicted = (sign * np.log1p(sign * gain / 100) for gain in (one.published, one.predicted))
        document = re.sub(r"(\.md).*", r"\1", one.row["source"])
        logs.append((document, published - predicted))
    inside, widths = [], []
    for document in {name for name, _ in logs}:
        others = [error for name, error in logs if name != document]
        reach = float(np.quantile(np.abs(others), min(1.0, 0.9 * (1 + 1 / max(len(others), 1)))))
        for name, error in logs:
            if name == document:
                inside.append(abs(error) <= reach)
                widths.append(2 * reach)
    return {
        "gain_n": len(logs), "gain_documents": len({name for name, _ in logs}),
        "gain_coverage_90": round(float(np.mean(inside)), 3) if inside else None,
        "gain_width_90": round(float(np.median(widths)), 3) if widths else None,
    }  # fmt: skip


def rank_correlation(pairs: list[tuple[float, float]]) -> float | None:
    if len(pairs) < 3:
        return None
    one, two = (ranks([pair[place] for pair in pairs]) for place in (0, 1))
    return round(float(np.corrcoef(one, two)[0, 1]), 3)


def speed(known: ShippedKnowledge) -> float:
    """Whole-step configurations per second on one core."""
    axes: dict[str, list[object]] = {
        "tp": [1, 2, 4, 8], "pp": [1, 2, 4, 8], "mbs": [1, 2, 4, 8], "zero": [0, 1],
        "recompute": ["none", "selective", "full"], "fused_ops": [0, 1], "overlap_gradients": [0, 1],
        "flash_attention": [0, 1],
    }  # fmt: skip
    settings = sweep({"seq_len": 4096, "gbs": 512}, axes)
    where = known.machine("ascend-910b1", 64, "atlas-800t-a2")
    model = known.model("llama-2-7b")
    estimate(model=model, machine=where, phase="training", settings=settings[:8])
    begin = time.process_time()
    estimate(model=model, machine=where, phase="training", settings=settings)
    return len(settings) / (time.process_time() - begin)


def ranks(values: list[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.argsort(np.argsort(values)).astype(float)


def report(points: list[Point]) -> dict[str, object]:
    found: dict[str, object] = {}
    families: dict[str, list[Point]] = defaultdict(list)
    for one in points:
        families[one.family].append(one)
        families["all"].append(one)
    for family, held in sorted(families.items()):
        error = [100 * abs(p.predicted / p.measured - 1) for p in held]
        log = np.array([np.log(p.predicted / p.measured) for p in held])
        inside = np.mean([abs(e) <= 1.645 * p.spread for e, p in zip(log, held, strict=True)])
        measured, predicted = [p.measured for p in held], [p.predicted for p in held]
        order = float(np.corrcoef(ranks(predicted), ranks(measured))[0, 1]) if len(held) > 2 else None
        entry = {
            "n": len(held), "median_error": round(float(np.median(error)), 1),
            "spearman": None if order is None else round(order, 3),
            "bias_factor": round(float(np.exp(np.median(log))), 2), "log_sd": round(float(np.std(log)), 2),
            "coverage_90": round(float(inside), 2),
        }  # fmt: skip
        found[family] = entry
        print(f"{family}: {entry}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--evaluate", type=Path, required=True)
    parser.add_argument("--effects", type=Path, help="published gains of strategies")
    parser.add_argument("--rows", action="store_true", help="print every row")
    chosen = parser.parse_args()
    known = ShippedKnowledge.load()
    with chosen.evaluate.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    points, missing = [], Counter[str]()
    for row in rows:
        try:
            one = point(row, known)
        except (NotExpressibleError, MissingFactError, InputError) as refused:
            missing[str(refused)] += 1
            continue
        points.append(one)
        if chosen.rows:
            print(f"  {row['id']} {row['model']} {row['chip']} x{row['n_devices']} {row['config'][:40]}: "
                  f"{one.predicted:.4g} for {one.measured:.4g}")  # fmt: skip
    print(f"{len(points)} of {len(rows)} rows can be estimated; the others:")
    kinds = Counter[str]()
    for reason, n in missing.items():
        kinds[re.sub(r"^\S+: ", "", reason)] += n
    print("  " + ", ".join(f"{reason}: {n}" for reason, n in kinds.most_common(12)))
    for reason, n in missing.most_common(20):
        print(f"  {n:4d}  {reason}")
    families = report(points)
    middle, largest, n = disagreement(rows)
    print(f"published tables disagree by a factor of {middle:.2f} (median), {largest:.1f} at most, n = {n}")
    signs = effects(chosen.effects, known) if chosen.effects else {}
    rate = speed(known)
    result = {
        "rows": len(rows), "expressible": len(points), "families": families, "missing": dict(kinds),
        "tables_disagree_factor": round(middle, 2), "tables_disagree_largest": round(largest, 2),
        **signs,
        "configurations_per_s": round(rate),
    }  # fmt: skip
    last_line(result)


if __name__ == "__main__":
    main()
