"""Learns how a gain fades with its circumstances: ``data/retrieval/context_distance.json``.

``python -m tools.fitting.fit_context_distance CASES [--write]`` takes collections of whole serving runs. A
gain is that of one setting changed between two runs that agree in all else; of such a change it is known at
many lengths, batches, layouts, frameworks and versions. Two gains of one change on one model and device
correlate by

    r = prod over sizes exp(-|log2 a - log2 b| / octaves)  x  prod over names (share where the two differ)

Octaves and shares are those of the highest likelihood, coordinate by coordinate over a grid. Judged with each
collection left out: fitted on the others, then each of its gains foretold from a sample of the other gains
of the same change; beside it the same without any distance. The last line is JSON.
"""

from __future__ import annotations

import gzip
import json
import math
import random
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import last_line, option, parse
from benchmarks.protocols.processes import ROOT

PATH = ROOT / "data" / "retrieval" / "context_distance.json"
CORPORA = (
    "inferencex_serving",
    "inferencemax_chart_serving",
    "argonne_llm_inference_bench",
    "trtllm_perf_overview",
)
SIZES = {
    "lengths": ("input_len", "output_len"),
    "batch": ("concurrency", "batch_size"),
    "layout": ("tp", "ep", "num_devices"),
}
NAMES = ("framework", "version")
OCTAVES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, math.inf)
SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
KNOBS = ("tp", "ep", "num_devices", "framework", "spec_decoding", "dp_attention", "disaggregated")
LEAST = 4
"""Gains of one change from which on it says something of distance."""
MOST = 60
"""Gains of one change that are looked at; of more, a sample."""


@dataclass(frozen=True, slots=True)
class ChangedGain:
    """The log gain of one setting changed.

    Attributes:
        change: The setting and its two values.
        place: Model, precision and device.
        sizes: Sizes of the circumstances by name.
        names: Framework and version.
        gain: In nats.
    """

    change: str
    place: tuple[str, ...]
    sizes: dict[str, float]
    names: dict[str, str]
    gain: float


Scales = dict[str, float]
NOTHING: Mapping[str, float] = {}
VARIANCES = (0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
GRID: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(SIZES, OCTAVES),
    **dict.fromkeys(NAMES, SHARES),
    **dict.fromkeys(("strategy", "between", "noise"), VARIANCES),
}
START: Scales = {name: values[len(values) // 2] for name, values in GRID.items()}
FLAT: Scales = dict.fromkeys(SIZES, math.inf) | dict.fromkeys(NAMES, 1.0)
"""Scales without any distance."""
ROUNDS = 20


def gains_of(path: Path) -> Iterator[ChangedGain]:
    """Every pair of runs of a collection that differ in one setting, as a gain."""
    groups: dict[tuple[str, ...], list[tuple[dict[str, Any], float, str]]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line)
            value = row["outcome"].get("value")
            if not value:
                continue
            config = {name: str(item) for name, item in row["config"].items() if name != "num_gpus"}
            shape = {**row["task"]["shape"]}
            if "batch_size" in config:
                shape["batch_size"] = float(config.pop("batch_size"))
            place = (
                str(row["task"].get("model")),
                str(row["task"].get("dtype")),
                str(row["hardware"]["name"]),
            )
            version = str(row["source"].get("framework_version") or "")
            key: tuple[str, ...] = (*place, json.dumps(shape, sort_keys=True))
            groups[key].append((config, math.log(value), version))
    for key, runs in groups.items():
        shape = json.loads(key[-1])
        for (one, before, version), (other, after, newer) in combinations(runs, 2):
            differing = [name for name in {*one, *other} if one.get(name) != other.get(name)]
            if len(differing) != 1 or differing[0] not in KNOBS:
                continue
            knob = differing[0]
            if knob != "framework" and version != newer:
                continue
            a, b = one.get(knob, ""), other.get(knob, "")
            gain = after - before
            if a > b:
                a, b, gain = b, a, -gain
            sizes = {**shape, **{n: float(one[n]) for n in SIZES["layout"] if n != knob and n in one}}
            names = {} if knob == "framework" else {"framework": one.get("framework", ""), "version": version}
            yield ChangedGain(f"{knob} {a} {b}", key[:-1], sizes, names, gain)


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """The gains of one change, with what each two of them have in common; all of shape (n, n).

    Attributes:
        gains: The gains, shape (n,).
        shared: Share of their places: 1 on one model and device, a third for either alone.
        octaves: Distance of their sizes, by kind.
        differ: Whether their names differ, by name.
    """

    gains: NDArray[np.float64]
    shared: NDArray[np.float64]
    octaves: dict[str, NDArray[np.float64]]
    differ: dict[str, NDArray[np.bool_]]

    @classmethod
    def of(cls, items: Sequence[ChangedGain]) -> ChangeGroup:
        """Reckon once what all scales need."""

        def unlike(texts: Sequence[object]) -> NDArray[np.bool_]:
            column = np.unique([str(text) for text in texts], return_inverse=True)[1]
            return np.asarray(column[:, None] != column[None, :], dtype=np.bool_)

        model = ~unlike([item.place[:2] for item in items])
        device = ~unlike([item.place[2] for item in items])
        octaves = {}
        for kind, names in SIZES.items():
            octaves[kind] = np.zeros(model.shape)
            for name in names:
                at = np.array([math.log2(item.sizes.get(name) or 1.0) for item in items])
                octaves[kind] += np.abs(at[:, None] - at[None, :])
        return cls(
            gains=np.array([item.gain for item in items]),
            shared=np.where(model & device, 1.0, (model | device) / 3),
            octaves=octaves,
            differ={name: unlike([item.names.get(name, "") for item in items]) for name in NAMES},
        )

    def covariance(self, scales: Mapping[str, float]) -> NDArray[np.float64]:
        """Covariance of the gains about zero: a change and its reverse are one."""
        near = np.exp(-sum(octaves / scales[kind] for kind, octaves in self.octaves.items()))
        for name, differ in self.differ.items():
            near = near * np.where(differ, scales[name], 1.0)
        noise = np.eye(len(self.gains)) * scales["noise"]
        return scales["strategy"] + scales["between"] * self.shared * near + noise


def likelihood(groups: Sequence[ChangeGroup], scales: Mapping[str, float]) -> float:
    """Logarithmic likelihood of all groups."""
    total = 0.0
    for group in groups:
        matrix = group.covariance(scales)
        _, determinant = np.linalg.slogdet(matrix)
        total -= 0.5 * (float(group.gains @ np.linalg.solve(matrix, group.gains)) + float(determinant))
    return total


def fit(groups: Sequence[ChangeGroup], fixed: Mapping[str, float] = NOTHING) -> Scales:
    """The scales of the highest likelihood, one coordinate after the other until none moves."""
    scales: Scales = {**START, **fixed}
    grid = {name: values for name, values in GRID.items() if name not in fixed}
    best = likelihood(groups, scales)
    for _ in range(ROUNDS):
        before = best
        for name, values in grid.items():
            found = {value: likelihood(groups, scales | {name: value}) for value in values}
            value = max(found, key=lambda item: found[item])
            if found[value] > best:
                scales, best = scales | {name: value}, found[value]
        if best == before:
            break
    return scales


def errors(groups: Sequence[ChangeGroup], scales: Mapping[str, float]) -> list[tuple[float, float]]:
    """Error of each gain foretold from the others of its change, and its logarithmic density."""
    found = []
    for group in groups:
        matrix = np.linalg.inv(group.covariance(scales))
        for k, value in enumerate(matrix @ group.gains):  # leave-one-out residual of a Gaussian
            variance = 1 / matrix[k, k]
            error = float(value * variance)
            found.append((abs(error), -0.5 * (error**2 / variance + math.log(2 * math.pi * variance))))
    return found


def grouped(gains: Iterator[ChangedGain]) -> list[ChangeGroup]:
    """The gains of each change, a sample of those that are many."""
    rng = random.Random(0)
    groups: dict[str, list[ChangedGain]] = defaultdict(list)
    for item in gains:
        groups[item.change].append(item)
    return [
        ChangeGroup.of(rng.sample(group, MOST) if len(group) > MOST else group)
        for _, group in sorted(groups.items())
        if len(group) >= LEAST
    ]


def main() -> None:
    """Read the options, fit, judge with each collection left out, print the figures."""
    arguments = parse(__doc__, option("cases", type=Path), option("--write", action="store_true"))
    by_corpus = {name: grouped(gains_of(arguments.cases / f"{name}.jsonl.gz")) for name in CORPORA}
    report: dict[str, Any] = {}
    for name, groups in by_corpus.items():
        others = [group for other, more in by_corpus.items() if other != name for group in more]
        row: dict[str, Any] = {"gains": sum(len(group.gains) for group in groups)}
        for label, fixed in (("with", NOTHING), ("without", FLAT)):
            scales = fit(others, fixed)
            judged = errors(groups, scales)
            row[label] = {
                "scales": scales,
                "median_error": round(statistics.median(error for error, _ in judged), 4),
                "mean_log_density": round(statistics.fmean(density for _, density in judged), 4),
            }
        report[name] = row
        print(name, row)
    scales = fit([group for groups in by_corpus.values() for group in groups])
    shipped = {
        "origin": "tools/fitting/fit_context_distance.py: gains of one setting, runs of public collections",
        "gains": sum(row["gains"] for row in report.values()),
        "octaves": {kind: scales[kind] for kind in SIZES},
        "other_framework": scales["framework"],
        "other_version": scales["version"],
        "median_error_left_out": {
            name: {label: row[label]["median_error"] for label in ("with", "without")}
            for name, row in report.items()
        },
    }
    if arguments.write:
        PATH.write_text(json.dumps(shipped, indent=1) + "\n", encoding="utf-8")
    last_line({"shipped": shipped, "left_out": report})


if __name__ == "__main__":
    main()
