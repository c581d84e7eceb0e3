"""Layouts of measured serving tables by NVIDIA's aiconfigurator, beside ours on the tables that it answers.

    python -m benchmarks.answers.simulator --known DIR --asked DIR --aiconfigurator PROGRAM

Each table of ``benchmarks.answers.serving`` on a device that it has is asked of every engine of the table, with the
table's own number format: the checkpoint of that format which it carries. A hit is within 10 % of the best, as there.
``capped`` passes over configurations with more requests at once than an instance of the table had, as ours always does;
``theirs`` takes those as they come. Its CPU time is that of its process.
"""

import contextlib
import csv
import resource
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from benchmarks import harness
from benchmarks.answers.serving import (
    FOLDERS,
    Bench,
    Layout,
    Table,
    asked_tables,
    best_layouts,
    drawn_tables,
    is_open,
    known_world,
)
from benchmarks.protocols.processes import one_thread
from kg.nouns.layout import ParallelLayout

CHECKPOINTS = {
    ("deepseek-r1", "fp8"): "deepseek-ai/DeepSeek-R1", ("deepseek-r1", "fp4"): "nvidia/DeepSeek-V3.1-NVFP4",
    ("llama-3-1-70b", "fp8"): "nvidia/Llama-3.1-70B-Instruct-FP8", ("llama-3-1-70b", "bf16"): "meta-llama/Meta-Llama-3.1-70B",
    ("llama-3-3-70b", "fp8"): "nvidia/Llama-3.1-70B-Instruct-FP8", ("gpt-oss-120b", "fp4"): "openai/gpt-oss-120b",
    ("gpt-oss-20b", "fp4"): "openai/gpt-oss-20b",
}  # fmt: skip
"""Checkpoints by model and number format; networks of the same sizes stand for each other."""
SYSTEMS = {
    "h100-sxm": "h100_sxm",
    "h200": "h200_sxm",
    "b200": "b200_sxm",
    "gb200": "gb200",
    "a100-sxm4-80gb": "a100_sxm",
}
ENGINES = {"tensorrt-llm": "trtllm", "sglang": "sglang", "vllm": "vllm"}
MOST_S = 120
"""Seconds after which a table has no answer of an engine."""
SHARED = 100000
"""Milliseconds of TTFT that nothing exceeds."""


def answers(program: str, table: Table) -> dict[str, list[Layout]] | None:
    """Layouts of a table by output a device, best first, without and with a cap on the load; None without an answer."""
    work, domain = table.question.work, table.question.domain
    checkpoint = CHECKPOINTS.get((work.model, work.precision))
    system = SYSTEMS.get(work.device)
    if checkpoint is None or system is None or not table.question.limits:
        return None
    limit_ms = 1e3 * float(table.question.limits[0].maximum or 0)
    reached: dict[str, dict[Layout, float]] = {"theirs": defaultdict(float), "capped": defaultdict(float)}
    for engine in domain.frameworks:
        with tempfile.TemporaryDirectory() as folder:
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(
                [program, "cli", "default", "--model-path", checkpoint, "--total-gpus", str(max(domain.counts)),
                 "--system", system, "--backend", ENGINES.get(engine, engine), "--isl", str(int(work.input_len)),
                 "--osl", str(int(work.output_len)), "--tpot", str(limit_ms), "--ttft", str(SHARED),
                 "--serving-mode", "agg", "--top-n", "100", "--save-dir", folder, "--no-color"],
                check=False, capture_output=True, timeout=MOST_S,
            )  # fmt: skip
            for path in Path(folder).rglob("agg/*.csv"):
                for row in csv.DictReader(path.open(encoding="utf-8")):
                    tensor, copies, experts = (int(float(row[name])) for name in ("tp", "dp", "moe_ep"))
                    if float(row["tpot"]) > limit_ms or float(row["pp"]) > 1:
                        continue
                    key: Layout = (engine, ParallelLayout(tp=tensor, dp=copies, ep=experts), False)
                    for name, held in reached.items():
                        if name == "theirs" or float(row["concurrency"]) <= domain.most_at_once:
                            held[key] = max(held[key], float(row["tokens/s/gpu"]))
    return (
        {name: sorted(held, key=lambda key: -held[key]) for name, held in reached.items()}
        if reached["theirs"]
        else None
    )


def main() -> None:
    """Print the figures; the last line is JSON."""
    one_thread()
    program = harness.option("--aiconfigurator", required=True, help="its program")
    given = harness.read(__doc__, *FOLDERS, program, quick="ask a fifth")
    with tempfile.TemporaryDirectory() as folder:
        world = known_world(given.known, Path(folder))
        tables, drawn = drawn_tables(given, asked_tables(given.asked, world.workspace))
        bench, asked = Bench(world.workspace, drawn=drawn), 0
        for table in tables:
            began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            found = answers(given.aiconfigurator, table)
            if found is None:
                continue
            asked += 1
            took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began
            for name, layouts in found.items():
                bench.scores[name].take(table, layouts, took)
            rated = [one for one in bench.deployments.rate(table.question) if is_open(one, table)]
            bench.scores["ours"].take(table, best_layouts(rated, table.question), 0.0)
            print(
                table.question.work,
                {name: scores.first[-1] for name, scores in bench.scores.items()},
                flush=True,
            )
        given.last_line({name: scores.to_json() for name, scores in bench.scores.items()}, n=asked)


if __name__ == "__main__":
    main()
