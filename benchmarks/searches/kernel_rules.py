"""Whether the rules of kernel spaces leave out anything that ran, on tables of tuned kernels.

``python -m benchmarks.searches.kernel_rules --cases CASES [--quick]`` takes a folder of cases with the tables of vLLM, SGLang,
lightllm and Kernel Tuner and asks the rules of the generated space about every configuration that stands in
them. A published winner counts as having run. ``refused_though_ran`` is the share of those that a rule leaves
out; ``outside_values`` those with a value that the space does not list (a choice of values, no rule);
``spilled`` those that ``--no-spills`` would leave out; ``failures_refused`` the share of known failures that a
rule foretells. The last line is JSON.
"""

from collections import Counter, defaultdict
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.protocols.processes import one_thread
from benchmarks.worlds.shipped import ShippedKnowledge
from ingest.reading import read
from kg.nouns.entities import Case, Status
from recommender.cost_model.facts.device import Device
from recommender.space.expressions import Expression
from recommender.space.made.generated import GeneratedSpace
from recommender.space.made.kernels import kernel_space

FILES = (
    "vllm_sglang_moe_winners",
    "vllm_sglang_fp8_block_gemm_winners",
    "lightllm_triton_winners",
    "kerneltuner_convolution",
    "kerneltuner_convolution_milo",
)
PRODUCT = {
    "BLOCK_M": "BLOCK_SIZE_M",
    "BLOCK_N": "BLOCK_SIZE_N",
    "BLOCK_K": "BLOCK_SIZE_K",
    "GROUP_M": "GROUP_SIZE_M",
}
SUM = {"BLOCK_M": "ROWS", "BLOCK_DIM": "BLOCK_SIZE", "BLOCK_N": "BLOCK_SIZE", "NUM_STAGE": "num_stages"}
MLA = {"BLOCK_Q_HEAD": "BLOCK_M", "stage1_num_warps": "num_warps", "stage1_num_stages": "num_stages"}
OPERATORS = {
    "fused_moe": ("fused_moe", PRODUCT),
    "fused_moe_down": ("fused_moe", PRODUCT),
    "w8a8_block_fp8_gemm": ("fused_moe", PRODUCT),
    "lightllm_bmm_scaled_fp8": ("fused_moe", PRODUCT),
    "lightllm_fp8_block_mm": ("fused_moe", PRODUCT),
    "lightllm_grouped_moe_gemm_kernel": ("fused_moe", PRODUCT),
    "lightllm_moe_sum_reduce_kernel": ("softmax", SUM),
    "lightllm_moe_silu_and_mul_kernel": ("softmax", SUM),
    "lightllm_mla_decode_attentnion": ("attention", MLA),
    "convolution": ("convolution", {}),
    "convolution_milo": ("convolution", {}),
}
"""Operators of the tables, the kernel whose rules are asked, and what its parameters are called there."""
LARGE = 1 << 20
"""Side that stands for one that a table does not tell: it leaves every value in."""


def _space(kernel: str, case: Case, device: Device) -> tuple[GeneratedSpace, GeneratedSpace]:
    """The space of a case's kernel; sizes that are not told are large."""
    shape = dict(case.problem.workload.shape)
    told = {"M": LARGE, "N": LARGE}
    if kernel == "attention":
        told = {"S": LARGE, "D": int(str(shape.get("q_head_dim", 128)))}
    if kernel == "convolution":
        told = {"FW": 15, "FH": 15}
    precision = case.problem.workload.precision or (
        "fp8" if "fp8" in case.problem.workload.operator else "bf16"
    )
    number = next((x for x in ("fp8", "int8", "int4", "fp32", "float32") if x in precision), "bf16")
    if precision.endswith("a16"):
        number = {"int8": "int8", "int4": "int8"}.get(number, number)  # the smaller operand: a lower bound
    loose, strict = (
        kernel_space(
            kernel, told, number, device, form="cuda" if kernel == "convolution" else "triton", spills=x
        )
        for x in (True, False)
    )
    return loose, strict


def main() -> None:
    one_thread()
    arguments = harness.read(__doc__, harness.place("--cases", "--known"), quick="one file")
    shipped = ShippedKnowledge.load()
    files = FILES[2:3] if arguments.quick else FILES
    spaces: dict[tuple[Any, ...], tuple[GeneratedSpace, GeneratedSpace]] = {}
    counts: dict[str, Counter[str]] = defaultdict(Counter[str])
    said: Counter[str] = Counter()
    for name in files:
        path = arguments.cases / f"{name}.jsonl.gz"
        for item in read([path], shipped.names):
            if not isinstance(item, Case) or item.problem.workload.operator not in OPERATORS:
                continue
            status = item.measurement.status
            ran = status is Status.OK or (status is Status.NOT_MEASURED and item.measurement.value is None)
            if not ran and status is not Status.FAILED:
                continue
            operator = item.problem.workload.operator
            kernel, renamed = OPERATORS[operator]
            config = {renamed.get(key, key): value for key, value in item.configuration.items()}
            if config.pop("use_shmem", 1) == 0:
                continue  # another kernel: nothing is staged
            block = item.problem.workload.traits.get("block_shape")
            if isinstance(block, tuple):  # the launcher takes no longer steps
                config["BLOCK_SIZE_K"] = min(int(str(config["BLOCK_SIZE_K"])), *(int(str(x)) for x in block))
            hardware = item.problem.hardware.name
            key = (
                kernel,
                hardware,
                item.problem.workload.precision,
                str(item.problem.workload.shape.get("q_head_dim")),
                "fp8" in operator,
            )
            if key not in spaces:
                spaces[key] = _space(kernel, item, Device(hardware, dict(shipped.hardware.facts(hardware))))
            usual, strict = spaces[key]
            broken = [rule for rule in strict.constraints if not _holds(rule["expression"], config)]
            rules = [rule for rule in broken if rule in usual.constraints]
            row = counts[operator]
            if not ran:
                row["failed"] += 1
                row["failures_refused"] += bool(rules)
                continue
            row["ran"] += 1
            row["refused"] += bool(rules)
            row["spilled"] += len(broken) > len(rules)
            row["outside"] += any(
                config[x] not in values for x, values in usual.parameters.items() if x in config
            )
            for rule in rules:
                said[f"{operator} on {hardware}, {item.problem.workload.precision}: {rule['reason']}"] += 1
    print(
        f"{'operator':<36} {'ran':>7} {'refused':>8} {'outside':>8} {'spilled':>8} {'failed':>7} {'foretold':>9}"
    )
    for operator, row in sorted(counts.items()):
        print(
            f"{operator:<36} {row['ran']:>7} {row['refused']:>8} {row['outside']:>8} {row['spilled']:>8} {row['failed']:>7} {row['failures_refused']:>9}"
        )
    for text, times in said.most_common():
        print(f"refused though it ran, {times}: {text}")
    total = sum(counts.values(), Counter())
    failed = total["failed"]
    arguments.last_line(
        {
            "n": total["ran"] + failed,
            "n_ran": total["ran"],
            "refused_though_ran": round(total["refused"] / max(total["ran"], 1), 6),
            "outside_values": round(total["outside"] / max(total["ran"], 1), 4),
            "spilled": round(total["spilled"] / max(total["ran"], 1), 4),
            "n_failed": failed,
            "failures_refused": round(total["failures_refused"] / failed, 4) if failed else None,
        }
    )


def _holds(expression: str, config: dict[str, Any]) -> bool:
    """Whether a rule holds; one that speaks of what a table does not have says nothing."""
    known = frozenset(config)
    try:
        parsed = Expression.parse(expression, known)
    except ValueError:
        return True
    return bool(parsed.evaluate({name: np.array([config[name]]) for name in parsed.names}, 1)[0])


if __name__ == "__main__":
    main()
