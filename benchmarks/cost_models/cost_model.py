"""Measures the error of the cost model on operators it never saw, beside three floors of the same run.

    python -m benchmarks.cost_models.cost_model --calibrate DIR --evaluate DIR [--quick]

Both folders hold tables of measured operators (``docs/figures-notes.md``). One folder given twice means
that drawn groups of shapes and drawn jobs are left out together (``--all``: cross-validation over all of them). Two
folders: constants from the first, errors on the second. Repeats of a shape are merged first.

Floors: a fitted roofline (launch + larger of compute and traffic), gradient boosting on the logs of
the sizes, and gradient boosting on what the roofline leaves over.

``*_coverage_90`` is the share of shapes left out within the 90 % interval, whose width comes from
shapes left out of the others. ``collective_b_mape`` is the mesh model of an Atlas 800T A2, which is fitted to none of it
but its start-up time, on machine B with its sizes read as 16-bit elements over all ranks.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchmarks import harness
from benchmarks.protocols.processes import one_thread
from recommender.cost_model.facts.physics import PHYSICS
from recommender.cost_model.fit.calibrate import FOLDS, MACHINE, fit, folds, predict_left_out
from recommender.cost_model.fit.learning import fit_constants
from recommender.cost_model.fit.measurements import ShapeTable, read_rows, table
from recommender.cost_model.operators.kinds import KINDS, OperatorKind, reference_device

Floats = NDArray[np.float64]

DEVICE = reference_device()
KEYS = {
    "matmul_bf16": "mape", "matmul_w8a8": "mape", "attention_prefill": "mape", "attention_decode": "mape",
    "moe_bf16": "median", "moe_w8a8": "median", "collective": "a_mape",
}  # fmt: skip


def work_and_traffic(stem: str, x: Floats) -> tuple[Floats, Floats]:
    """Floating-point operations and bytes of a call, as a textbook counts them."""
    if stem.startswith("matmul"):
        m, n, k = x.T
        size = 2 if stem.endswith("bf16") else 1
        return 2 * m * n * k, size * (m * k + n * k) + 2 * m * n
    if stem.startswith("attention"):
        b, s, h, kv, d = x.T
        if stem.endswith("prefill"):
            return 2 * b * h * s * s * d, 4 * b * s * d * (h + kv)
        return 4 * b * h * s * d, 4 * b * s * kv * d
    if stem.startswith("moe"):
        tokens, hidden, inner, experts, chosen, _, local = x.T
        size = 2 if stem.endswith("bf16") else 1
        rows = tokens * chosen * local / experts
        active = local * (1 - (1 - chosen / experts) ** tokens)
        return 6 * rows * hidden * inner, 3 * size * active * hidden * inner + 4 * rows * hidden
    code, ranks, size = x.T
    share = np.where(code >= 2, size / ranks, size)
    return np.ones(len(x)), share * (ranks - 1) * np.where(code == 2, 2, 1)


def roofline(stem: str, x: Floats, logs: Floats) -> Floats:
    work, traffic = work_and_traffic(stem, x)
    launch, compute, memory = np.exp(logs)
    return np.asarray(launch + np.maximum(work / compute, traffic / memory))


def floor_predictions(stem: str, known: ShapeTable, x: Floats) -> dict[str, Floats]:
    """Predictions of the three floors for ``x`` after seeing ``known``."""
    from sklearn.ensemble import GradientBoostingRegressor

    prior = np.log([float(known.measured_us.min()), 2e8, 1e6])
    logs = fit_constants(lambda c: roofline(stem, known.x, c), prior, known.measured_us, pull=0.001)

    def features(rows: Floats) -> Floats:
        work, traffic = work_and_traffic(stem, rows)
        return np.column_stack([np.log2(np.maximum(rows, 0.5)), np.log2(work), np.log2(traffic)])

    def boosted(target: Floats) -> Floats:
        model = GradientBoostingRegressor(
            n_estimators=300, max_depth=4, learning_rate=0.06, subsample=0.7, random_state=0
        )
        return np.asarray(model.fit(features(known.x), target).predict(features(x)))

    line, line_x = roofline(stem, known.x, logs), roofline(stem, x, logs)
    return {
        "roofline": line_x,
        "boosting": np.exp(boosted(np.log(known.measured_us))),
        "roofline_x_boosting": line_x * np.exp(boosted(np.log(known.measured_us / line))),
    }


def errors(predicted: Floats, measured: Floats) -> Floats:
    return np.asarray(100 * np.abs(predicted / measured - 1))


def read(folder: Path, kind: OperatorKind) -> ShapeTable:
    path = folder / f"{kind.stem}.csv"
    return table(path, kind, read_rows(path), keep=MACHINE if kind.stem == "collective" else "")


def evaluate(
    kind: OperatorKind, known: ShapeTable, asked: ShapeTable, *, same: bool, quick: bool
) -> tuple[Floats, dict[str, Floats]]:
    """Our predictions for the asked shapes and those of the floors."""
    iterations, count = (5, 3) if quick else (15, FOLDS)
    if not same:
        model = fit(kind, known, DEVICE, iterations=iterations)
        return model.times_us(DEVICE, asked.x), floor_predictions(kind.stem, known, asked.x)
    ours = predict_left_out(kind, known, DEVICE, count=count, iterations=iterations)
    floors: dict[str, Floats] = {}
    for mask in folds(known.groups, count):
        for name, values in floor_predictions(kind.stem, known.select(~mask), known.x[mask]).items():
            floors.setdefault(name, np.full(len(mask), np.nan))[mask] = values
    return ours, floors


def coverage(
    kind: OperatorKind, known: ShapeTable, ours: Floats, asked: ShapeTable, *, same: bool, quick: bool
) -> float:
    """Share of the asked shapes within their 90 % interval, the spread taken from shapes left out."""
    miss = np.log(asked.measured_us / ours)
    if not same:
        guess = predict_left_out(kind, known, DEVICE, count=3, iterations=5)
        spread = np.sqrt(np.mean(np.log(known.measured_us / guess) ** 2))
        return float(np.mean(np.abs(miss) <= 1.645 * spread))
    inside = np.zeros(len(miss), dtype=bool)
    for mask in folds(known.groups, 3 if quick else FOLDS):
        inside[mask] = np.abs(miss[mask]) <= 1.645 * np.sqrt(np.mean(miss[~mask] ** 2))
    return float(np.mean(inside))


def machine_b(folder: Path) -> float | None:
    """Mean error of the mesh model on the second machine of the collectives, per cent."""
    from benchmarks.worlds.shipped import A2, ShippedKnowledge
    from recommender.cost_model.operators.collective import OPERATIONS
    from recommender.cost_model.operators.kinds import shipped
    from recommender.cost_model.operators.network import collective_us

    rows = [row for row in read_rows(folder / "collective.csv") if row["group"].startswith("B/")]
    if not rows:
        return None
    network = ShippedKnowledge.load().machine(*A2).network
    found = []
    for row in rows:
        name = "all_to_all" if OPERATIONS[row["op"]] == OPERATIONS["all_to_all"] else row["op"]
        ranks = np.array([float(row["n_ranks"])])
        # sizes fit as elements, times the ranks where data is gathered or exchanged
        over = {"all_reduce": 0, "all_to_all": 1}.get(name, 2)
        size = np.array([2 * float(row["message_size"])]) / ranks**over
        guess = collective_us(network, shipped(), name, size, ranks, np.ones(1))
        found.append(abs(float(guess[0]) / float(row["measured_us"]) - 1))
    return 100 * float(np.mean(found))


IN_SITU = {
    "RmsNorm": 2.0, "AddRmsNorm": 4.0, "AddRmsNormBias": 4.0, "SwiGlu": 1.5, "Cast": 3.0, "Add": 3.0, "TensorMove": 2.0,
    "Muls": 2.0, "Transpose": 2.0,
}  # fmt: skip
"""Elements that a small kernel moves for each of its first operand, read and written."""


def in_situ(folders: Sequence[Path]) -> dict[str, float | None]:
    """Median errors on kernels inside served models, per cent: products in 16 bit, small kernels, and both."""
    from benchmarks.worlds.shipped import ShippedKnowledge
    from recommender.cost_model.operators.kinds import shipped
    from recommender.cost_model.workloads.block import stream_us
    from recommender.cost_model.workloads.products import products_us

    device = ShippedKnowledge.load().machine("ascend-910c", 16, "atlas-800t-a3").device
    found: dict[str, list[float]] = {"in_situ_products": [], "in_situ_small": []}
    for row in (
        row for folder in folders for path in sorted(folder.glob("insitu*.csv")) for row in read_rows(path)
    ):
        sizes = [
            [int(size) for size in part.split(",")]
            for part in row["input_shapes"].split(";")
            if part[:1].isdigit()
        ]
        if row["op"].startswith("MatMul"):
            # weights of 16 bit lie as n x k, or in fractals of 16 x 16
            wide = sizes[1][0] if len(sizes[1]) == FLAT else 16 * sizes[1][1]
            x = np.array([[float(sizes[0][0]), float(wide), float(sizes[0][1])]])
            name, guess = "in_situ_products", float(products_us(shipped(), device, x, np.zeros(1))[0])
        elif row["op"] in IN_SITU:
            moved = np.array([2.0 * np.prod(sizes[0]) * IN_SITU[row["op"]]])
            name, guess = "in_situ_small", max(float(stream_us(device, moved)[0]), PHYSICS["small_kernel_us"])
        else:
            continue
        found[name].append(100 * abs(guess / float(row["measured_us"]) - 1))
    found["in_situ"] = [*found["in_situ_products"], *found["in_situ_small"]]
    return {name: round(float(np.median(held)), 2) if held else None for name, held in found.items()}


FLAT = 2
"""Axes of a matrix that lies row by row."""


def speed(n: int = 20000) -> dict[str, float]:
    """Configurations of one served load a CPU second, and the share of the time that the replay takes.

    On one thread: those of a numerical library that wait for the next product count as CPU time too.
    """
    from unittest.mock import patch

    from benchmarks.worlds.shipped import A2, ShippedKnowledge
    from recommender.cost_model.estimate import estimate
    from recommender.cost_model.workloads import serving_flow
    from recommender.cost_model.workloads.replay import Scheduled, replayed

    one_thread()
    rng, known, loop = np.random.default_rng(0), ShippedKnowledge.load(), [0.0]
    where, model = known.machine(*A2), known.model("qwen3-32b")
    given: list[dict[str, object]] = [
        {"tp": split, "dp": 8 // split, "batch": int(rng.integers(1, 300)), "input_len": 4096, "output_len": 512,
         "chunk": int(rng.choice([0, 1024, 2048, 4096, 8192, 16384])), "precision": str(rng.choice(["bf16", "int8"])),
         "speculative_tokens": int(rng.integers(0, 4)), "graph": float(rng.choice([0, 0.5, 1]))}
        for split in (int(split) for split in rng.choice([1, 2, 4, 8], n))
    ]  # fmt: skip

    def timed(asked: Scheduled) -> dict[str, Floats]:
        begin = time.process_time()
        done = replayed(asked)
        loop[0] += time.process_time() - begin
        return done

    estimate(model=model, machine=where, phase="serving", settings=given[:8])
    with patch.object(serving_flow, "replayed", timed):
        begin = time.process_time()
        estimate(model=model, machine=where, phase="serving", settings=given)
        took = time.process_time() - begin
    return {"configurations_per_cpu_s": round(n / took), "loop_share": round(loop[0] / took, 2)}


def main() -> None:
    chosen = harness.read(
        __doc__,
        harness.place("--calibrate", "--known"),
        harness.place("--evaluate", "--asked"),
        harness.place("--in-situ", nargs="*", default=[], help="more folders with kernels of served models"),
        quick="three folds and few iterations",
    )
    same = chosen.calibrate.resolve() == chosen.evaluate.resolve()
    rotates = same and not chosen.all
    result: dict[str, object] = {}
    floors: dict[str, dict[str, float]] = {}
    summary: dict[str, Callable[[Floats], float]] = {
        "mape": lambda e: float(np.mean(e)), "a_mape": lambda e: float(np.mean(e)),
        "median": lambda e: float(np.median(e)),
    }  # fmt: skip
    counts: dict[str, int] = {}
    for stem, statistic in KEYS.items():
        kind = KINDS[stem]
        known, asked = read(chosen.calibrate, kind), read(chosen.evaluate, kind)
        if rotates:
            held = chosen.draw(f"group, {stem}", known.groups.tolist(), least=2)
            mask = np.isin(known.groups, sorted(held))
            known, asked = known.select(~mask), known.select(mask)
        leaves = same and not rotates
        ours, theirs = evaluate(kind, known, asked, same=leaves, quick=chosen.quick)
        error = errors(ours, asked.measured_us)
        counts[stem] = len(error)
        result[f"{stem}_{statistic}"] = round(summary[statistic](error), 2)
        result[f"{stem}_spearman"] = round(float(spearmanr(ours, asked.measured_us).statistic), 4)
        if stem == "collective":
            result["collective_a_spearman"] = result["collective_spearman"]
        inside = coverage(kind, known, ours, asked, same=leaves, quick=chosen.quick)
        result[f"{stem}_coverage_90"] = round(inside, 3)
        if stem.startswith("moe"):
            result[f"{stem}_p90"] = round(float(np.percentile(error, 90)), 2)
            result[f"{stem}_mape"] = round(float(np.mean(error)), 2)
        floors[stem] = {
            name: round(summary[statistic](errors(values, asked.measured_us)), 2)
            for name, values in theirs.items()
        }
    other = machine_b(chosen.evaluate)
    if other is not None:
        result["collective_b_mape"] = round(other, 1)
    result |= {**in_situ([chosen.evaluate, *chosen.in_situ]), **speed()}
    chosen.last_line({**result, "floors": floors, "counts": counts}, n=sum(counts.values()))


if __name__ == "__main__":
    main()
