"""How far off whole steps are, which signs the cost model gets right, and how fast it answers.

    python -m benchmarks.cost_models.end_to_end --evaluate CSV [--effects CSV]

The CSV has published throughputs and times of whole models (``docs/cost-model.md``). A row counts
where ``published_rows`` makes a question of it; the others are counted by what is missing. The second CSV has published gains of strategies: their signs are
compared with what the cost model says of the same change, each row that cannot be expressed with the
reason. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import csv
import re
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.cost_models.effect_settings import Comparison, balanced, compare
from benchmarks.cost_models.published_rows import PublishedQuestion, question_of
from benchmarks.protocols.lines import last_line
from benchmarks.worlds.shipped import NotExpressibleError, ShippedKnowledge, plain
from kg.errors import InputError, MissingFactError
from recommender.cost_model.estimate import estimate, sweep
from recommender.cost_model.workloads.steps import Steps, ceiling, speedup_without


@dataclass(frozen=True, slots=True)
class Point:
    """One row that could be estimated."""

    family: str
    group: str
    predicted: float
    measured: float
    spread: float


def best(steps: Steps) -> int:
    rate = np.where(steps.fits, steps.throughput, 0.0)
    return int(np.argmax(rate if np.any(rate > 0) else steps.throughput))


def point(asked: PublishedQuestion) -> Point:
    """Predicted and measured value of a published question.

    Raises:
        NotExpressibleError: It does not fit in memory as far as it is described.
    """
    steps = estimate(model=asked.model, machine=asked.machine, phase=asked.phase, settings=asked.settings)
    at = best(steps)
    if np.isfinite(steps.capacity_bytes) and not steps.fits[at]:
        raise NotExpressibleError("does not fit in memory as far as it is described")
    if asked.quantity == "decode":
        running = float(asked.machine.count) * float(asked.settings[at]["batch"])  # type: ignore[arg-type]
        predicted = running * steps.extra["tokens_per_step"][at] / steps.time_s[at]
    elif asked.quantity == "prefill_throughput":
        predicted = steps.extra["prefill_throughput"][at]
    else:
        predicted = {
            "throughput": steps.throughput[at],
            "time_ms": 1e3 * steps.time_s[at],
            "ttft_s": steps.extra.get("ttft_s", steps.time_s)[at],
            "tpot_ms": 1e3 * steps.extra.get("tpot_s", steps.time_s)[at],
        }[asked.quantity]
    return Point(asked.family, asked.row["group"], float(predicted) / asked.shares, asked.value, steps.spread)


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
            one = point(question_of(row, known))
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
