"""What aiconfigurator proposes for a serving question; it is asked in a Python of its own."""

import json
import subprocess
import time

from benchmarks.answers.served_work import DeploymentQuestion
from kg.nouns.layout import ParallelLayout

SYSTEMS = {
    "h200": "h200_sxm",
    "b200": "b200_sxm",
    "b300": "b300_sxm",
    "h100-sxm": "h100_sxm",
    "gb200": "gb200",
}
"""Its names of devices."""
BACKENDS = {"tensorrt-llm": "trtllm", "sglang": "sglang", "vllm": "vllm"}
MODELS = {
    "llama-3-3-70b": "meta-llama/Meta-Llama-3.1-70B", "llama-3-1-70b": "meta-llama/Meta-Llama-3.1-70B",
    "deepseek-r1": "deepseek-ai/DeepSeek-V3", "mixtral-8x7b": "mistralai/Mixtral-8x7B-v0.1",
}  # fmt: skip
"""Its models of the same sizes whose configuration it carries: nothing is downloaded."""
SECONDS = 1800
"""Until which an answer is waited for; later is none."""
_PROGRAM = """
import contextlib, io, json, sys, time
asked = json.load(sys.stdin)
found = []
with contextlib.redirect_stdout(io.StringIO()):
    from aiconfigurator.cli.api import cli_default
    for backend in asked["backends"]:
        for count in asked["counts"]:
            try:
                done = cli_default(asked["model"], count, asked["system"], backend=backend, isl=asked["isl"],
                    osl=asked["osl"], ttft=1e6, tpot=asked["tpot"], top_n=10, strict_sla=True)
            except Exception:
                continue
            for name, table in done.best_configs.items():
                if not name.startswith("agg"):
                    continue
                for row in table.to_dict("records"):
                    found.append([backend, *(row.get(key) for key in
                        ("tp", "pp", "dp", "moe_ep", "concurrency", "tokens/s/gpu"))])
print(json.dumps([found, time.process_time()]))
"""


def ask_aiconfigurator(
    python: str, question: DeploymentQuestion, *, load: float | None
) -> tuple[list[tuple[str, ParallelLayout, bool]] | None, float]:
    """Its layouts by throughput of each device, and its CPU seconds; None where it has no such device or model.

    Args:
        python: The Python that has it.
        question: What is asked: engines, numbers of devices, lengths, the limit on the time of an output token.
        load: Largest load of an instance: what needs more is passed over; None to take all.
    """
    work = question.work
    if work.device not in SYSTEMS or work.model not in MODELS:
        return None, 0.0
    asked = {
        "model": MODELS[work.model],
        "system": SYSTEMS[work.device],
        "backends": [BACKENDS[name] for name in question.domain.frameworks if name in BACKENDS],
        "counts": [max(question.domain.counts)],
        "isl": int(work.input_len),
        "osl": int(work.output_len),
        "tpot": next((item.maximum * 1e3 for item in question.limits if item.metric == "tpot"), 1e6),
    }
    started = time.monotonic()
    try:
        done = subprocess.run(
            [python, "-W", "ignore", "-c", _PROGRAM],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [], SECONDS
    if done.returncode or not done.stdout.strip():
        return None, time.monotonic() - started
    rows, cpu_s = json.loads(done.stdout.splitlines()[-1])
    engines = {backend: name for name, backend in BACKENDS.items()}
    best: dict[tuple[str, ParallelLayout, bool], float] = {}
    for backend, tensor, stages, replicas, experts, concurrency, rate in rows:
        if (stages or 1) > 1 or (load is not None and (concurrency or 0) > load):
            continue
        inside = bool(replicas and replicas > 1)
        width = int(tensor) * (int(replicas) if inside else 1)
        layout = ParallelLayout(
            tp=width, dp=width if inside else 1, ep=int(experts or 1), dp_attention=inside
        )
        key = (engines[backend], layout, False)
        best[key] = max(best.get(key, 0.0), float(rate))
    return sorted(best, key=lambda item: -best[item]), cpu_s
