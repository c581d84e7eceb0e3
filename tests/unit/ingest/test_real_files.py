"""Real files of the formats' own producers, with the counts that their content implies."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from kg.nouns.entities import Kind, Status
from tests.samples.readings import ingest_all

CASES = {
    "aiter_tuned_kernels": 33916,
    "argonne_llm_inference_bench": 2250,
    "clblast_winners": 5336,
    "flagperf_operator_impl_choice": 316,
    "flagperf_training_multivendor": 144,
    "gavel_training_throughput": 264,
    "gptune_hpc": 12,
    "kerneltuner_convolution": 13536,
    "kerneltuner_convolution_milo": 17448,
    "kerneltuner_gemm_a100_time_energy": 1796,
    "kerneltuner_pnpoly": 8184,
    "lightllm_triton_winners": 1048,
    "llmfoundry_training_throughput": 122,
    "megatron_bridge_training_tables": 121,
    "sglang_ascend_serving_recipes": 38,
    "tpu_tuned_blocks_winners": 2981,
    "tvm_tophub_winners": 2291,
    "vidur_tp_layer_times": 545,
    "vllm_mamba_ssu_winners": 162,
    "vllm_sglang_fp8_block_gemm_winners": 3267,
    "vllm_sglang_moe_winners": 6620,
}


@pytest.mark.long
@pytest.mark.parametrize("corpus", CASES)
def test_every_row_of_a_corpus_is_a_case(corpus: str, shared: Path, names: NameResolver) -> None:
    _, (report,) = ingest_all(names, shared / "cases" / f"{corpus}.jsonl.gz")
    assert (report.good, report.bad) == (CASES[corpus], 0)


def test_kinds_and_statuses_are_kept_apart(shared: Path, names: NameResolver) -> None:
    corpora = ("kerneltuner_pnpoly", "flagperf_training_multivendor", "sglang_ascend_serving_recipes")
    cases, _ = ingest_all(names, *(shared / "cases" / f"{corpus}.jsonl.gz" for corpus in corpora))
    assert Counter((case.kind, case.measurement.status) for case in cases) == {
        (Kind.MEASURED, Status.OK): 7508,
        (Kind.MEASURED, Status.FAILED): 676,
        (Kind.PUBLISHED, Status.OK): 78,
        (Kind.PUBLISHED, Status.UNKNOWN): 66,
        (Kind.TARGET, Status.NOT_MEASURED): 38,
    }


def test_fused_moe_files_and_their_rows_in_the_corpus_are_the_same_problems(
    shared: Path, names: NameResolver
) -> None:
    files, _ = ingest_all(
        names, shared / "formats" / "vllm_fused_moe", shared / "formats" / "sglang_fused_moe"
    )
    rows, _ = ingest_all(names, shared / "cases" / "vllm_sglang_moe_winners.jsonl.gz")
    known = {(case.problem.id, case.configuration) for case in rows}
    assert all((case.problem.id, case.configuration) in known for case in files)


def test_kernel_tuner_caches(shared: Path, names: NameResolver) -> None:
    cases, reports = ingest_all(names, shared / "formats" / "kernel_tuner_cache")
    assert [(report.path.name.split(".")[0], report.good, report.bad) for report in reports] == [
        ("convolution_milo_A100", 4362, 0),
        ("gemm_A100_power_energy_UNFINISHED", 1796, 0),
        ("pnpoly_RTX_2080_Ti", 4092, 0),
        ("pnpoly_RTX_3060_laptop", 4092, 0),
    ]
    assert any("unfinished" in guess for guess in reports[1].guesses)
    failed = Counter(case.measurement.reason for case in cases if case.measurement.status is Status.FAILED)
    assert failed == {"RuntimeFailedConfig": 155 + 358 + 318, "CompilationFailedConfig": 6}
    assert sum(case.measurement.metric == "energy" for case in cases) == 898


@pytest.mark.long
def test_one_space_read_from_cache_t4_and_case_jsonl_is_one_problem(
    shared: Path, names: NameResolver
) -> None:
    formats = shared / "formats"
    space = formats / "kernel_tuner_t1"
    cache, _ = ingest_all(names, space, formats / "kernel_tuner_cache" / "convolution_milo_A100.json.gz")
    t4, _ = ingest_all(names, space, formats / "kernel_tuner_t4")
    rows, _ = ingest_all(names, shared / "cases" / "kerneltuner_convolution_milo.jsonl.gz")
    rows = [case for case in rows if case.problem.hardware.name == "nvidia-a100"]
    assert len(cache) == len(t4) == len(rows) == 4362
    assert len({case.problem.id for case in (*cache, *t4, *rows)}) == 1
    by_row = {case.configuration: case.measurement for case in rows}
    for case in (*cache, *t4):
        other = by_row[case.configuration]
        assert (case.measurement.status, case.measurement.reason) == (other.status, other.reason)
        if other.value is not None:
            assert case.measurement.value == pytest.approx(other.value, rel=1e-6)
            assert case.measurement.stdev == pytest.approx(other.stdev, abs=1e-9)
            assert case.measurement.repeats == other.repeats == 32


def test_counts_are_those_of_the_files_themselves(shared: Path, names: NameResolver) -> None:
    path = shared / "formats" / "kernel_tuner_cache" / "pnpoly_RTX_3060_laptop.json.gz"
    raw = json.loads(gzip.decompress(path.read_bytes()))["cache"]
    cases, _ = ingest_all(names, path)
    assert len(cases) == len(raw)
    values = [case.measurement.value for case in cases]
    assert values == [row["time"] / 1e3 if isinstance(row["time"], float) else None for row in raw.values()]
