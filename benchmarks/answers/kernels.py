"""First proposals for single kernels on a fresh workspace: how good are they without any known case?

``python -m benchmarks.answers.kernels --cases CASES [--operators FOLDER] [--quick]`` asks about kernels whose tables others
published, with the shipped facts of hardware alone:

* ``winners``: published winners without times (fused MoE and block FP8 products in Triton). Mean distance of each
  parameter in powers of two (stages: in stages), beside vLLM's default and random ones. Independent tunings rarely agree
  with each other, so this says how near a proposal lies, not how fast it is.
* ``level``: natural log of the best measured time of libraries over that of the best tile by the model; ``drawn`` has
  the share of drawn devices inside the 90 % interval of the others' spread.

The seed draws which rows of the larger tables are asked. Nothing else is fitted to them.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import json_rows, mean
from benchmarks.protocols.processes import one_thread
from benchmarks.worlds.world import fresh_workspace
from kg.errors import TuningError
from kg.nouns.entities import Better, Hardware, Objective, Problem, Workload, WorkloadKind
from kg.nouns.gain import NORMAL_90
from kg.nouns.values import Settings
from recommender.cost_model.fit.measurements import read_rows
from recommender.ranking.kernels.choice import choose_rows
from recommender.ranking.kernels.domain import KernelDomain, generated_domain
from recommender.ranking.kernels.planning import CUBE_LOG_SPREAD, LOG_SPREAD
from recommender.ranking.kernels.question import KernelQuestion, kernel_question
from recommender.ranking.kernels.score import tile_times
from recommender.ranking.kernels.tile_times import TileTimes
from recommender.workspace.workspace import Workspace

WINNERS = ("vllm_sglang_moe_winners", "vllm_sglang_fp8_block_gemm_winners")
LEVELS = "aiconfigurator_gemm_backend"
KNOBS = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages")
CUBE = "910b, 24 cores bf16"


def question_of(
    workspace: Workspace, row: Mapping[str, Any], **change: Any
) -> tuple[KernelQuestion, KernelDomain, TileTimes]:
    task = {**row["task"], **change}
    traits = {name: task[name] for name in ("language", "block_shape") if task.get(name)}
    hardware = workspace.names.hardware(row["hardware"]["name"]).id
    problem = Problem(
        workload=Workload(
            kind=WorkloadKind.KERNEL,
            operator=task["op"],
            shape=Settings(task["shape"]),
            precision=task["dtype"],
            traits=Settings(traits),
        ),
        hardware=Hardware(name=hardware),
        objective=Objective(metric="latency", better=Better.LOWER),
    )
    question = kernel_question(problem, workspace.hardware.facts(hardware))
    domain = generated_domain(question)
    return question, domain, tile_times(question, domain.columns)


def by_group(items: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for item in items:
        groups[item["group_id"]].append(item)
    return groups


def vllm_default(row: Mapping[str, Any]) -> dict[str, int]:
    """The choice of vLLM where it has no table (``get_default_config`` of its fused_moe.py)."""
    shape, block = row["task"]["shape"], row["task"].get("block_shape")
    if block:
        return {
            "BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": block[0], "BLOCK_SIZE_K": block[1], "GROUP_SIZE_M": 32,
            "num_warps": 4, "num_stages": 3,
        }  # fmt: skip
    few = shape["M"] <= shape.get("E", 0)
    sides = (16, 32, 64, 1) if few else (64, 64, 32, 8)
    return {**dict(zip(KNOBS, sides, strict=False)), "num_warps": 4, "num_stages": 3}


def winners(
    workspace: Workspace, folder: Path, corpus: str, share: float, rng: np.random.Generator
) -> dict[str, Any]:
    """Distances of proposals from published winners, by parameter."""
    apart: dict[str, dict[str, list[float]]] = {
        method: defaultdict(list) for method in ("ours", "vllm_default", "random")
    }
    asked, skipped = 0, 0
    for row in json_rows(folder / f"{corpus}.jsonl.gz"):
        if rng.random() > share:
            continue
        try:
            question, domain, times = question_of(workspace, row)
        except TuningError:
            skipped += 1
            continue
        choice = choose_rows(question, domain, times)
        if choice is None:
            skipped += 1
            continue
        asked += 1
        for method, configuration in (
            ("ours", domain.configuration(choice.start)),
            ("vllm_default", vllm_default(row)),
            ("random", domain.configuration(int(rng.integers(len(domain))))),
        ):
            for name in KNOBS:
                if name in row["config"]:
                    theirs, own = float(row["config"][name]), float(str(configuration[name]))
                    apart[method][name].append(
                        abs(theirs - own) if name == "num_stages" else abs(math.log2(theirs / own))
                    )
    return {
        "n": asked,
        "skipped": skipped,
        **{
            method: {
                name: {"mean": float(np.mean(values)), "within_one": float(np.mean(np.array(values) <= 1))}
                for name, values in found.items()
            }
            for method, found in apart.items()
        },
    }


def levels(workspace: Workspace, run: harness.Run, share: float, rng: np.random.Generator) -> dict[str, Any]:
    """Log of measured over modelled times of products, by device and precision; ``drawn`` by the spread of the others."""
    folder, operators = run.cases, run.operators
    logs: dict[str, list[float]] = defaultdict(list)
    for table in by_group(json_rows(folder / f"{LEVELS}.jsonl.gz")).values():
        if rng.random() > share / 10:
            continue
        best = min(float(row["outcome"]["value"]) for row in table) * 1e-3
        try:
            question, _, times = question_of(workspace, table[0], language="triton")
        except TuningError:
            continue
        logs[f"{question.device.id} {question.number}"].append(math.log(best / float(times.total_s.min())))
    if operators is not None:
        for line in read_rows(operators / "matmul_bf16.csv"):
            if rng.random() > share / 3:
                continue
            task = {
                "op": "matmul", "dtype": "bfloat16", "language": "ascend-c",
                "shape": {side.upper(): int(line[side]) for side in "mnk"},
            }  # fmt: skip
            _, _, times = question_of(workspace, {"task": task, "hardware": {"name": "ascend-910b1"}})
            logs[CUBE].append(math.log(float(line["measured_us"]) * 1e-6 / float(times.total_s.min())))
    cube = logs.pop(CUBE, [])
    held = run.draw("device", logs)
    drawn = [value for name in held for value in logs[name]]
    others = np.array(
        [value for name, values in logs.items() if run.all or name not in held for value in values]
    )
    width = NORMAL_90 * math.sqrt(float(np.mean(others**2))) if len(others) else math.nan
    inside = {"n": len(drawn), "coverage_90": mean(abs(value) <= width for value in drawn)}
    logs["gpus"] = [value for values in logs.values() for value in values]
    spreads = dict.fromkeys(logs, LOG_SPREAD) | {CUBE: CUBE_LOG_SPREAD}
    return {"drawn": inside} | {
        name: {
            "n": len(values),
            "median": float(np.median(values)),
            "spread": float(np.std(values)),
            "coverage_90": float(np.mean(np.abs(values) <= NORMAL_90 * spreads[name])),
        }
        for name, values in {**logs, CUBE: cube}.items()
        if values
    }


def main() -> None:
    """Ask, and print the figures."""
    one_thread()
    run = harness.read(
        __doc__,
        harness.place("--cases", "--known"),
        harness.place("--operators", default=None, help="folder with matmul_bf16.csv"),
        quick="ask a tenth",
        published=7,
    )
    rng, share = run.rng(), 0.02 if run.quick else 0.2
    with fresh_workspace() as workspace:
        near = {name: winners(workspace, run.cases, name, share, rng) for name in WINNERS}
        level = levels(workspace, run, share, rng)
    run.last_line(
        {"winners": near, "level": level},
        n=sum(figures["n"] + figures["skipped"] for figures in near.values()),
    )


if __name__ == "__main__":
    main()
