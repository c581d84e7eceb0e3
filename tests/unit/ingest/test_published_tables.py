"""Argonne, llm-foundry, Megatron-Bridge, FlagPerf, NeMo, MindFormers, SGLang recipes: files as published."""

from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from tests.samples.readings import corpus, ingest


@pytest.mark.parametrize(
    ("file", "name", "rows", "known"),
    [
        ("argonne_csv/All_results.EXCERPT.csv", "argonne_llm_inference_bench", 1903, 1903),
        ("argonne_csv/TP_EP_PP_results.csv", "argonne_llm_inference_bench", 291, 271),
        ("markdown_tables/llm-foundry_training_benchmarks.md", "llmfoundry_training_throughput", 122, 122),
        ("markdown_tables/megatron_bridge_performance.md", "megatron_bridge_training_tables", 172, 112),
        (
            "markdown_tables/flagperf_zh_training_nvidia_retinanet-pytorch.md",
            "flagperf_training_multivendor",
            3,
            3,
        ),
        (
            "markdown_tables/flagperf_zh_training_kunlunxin_bert-pytorch.md",
            "flagperf_training_multivendor",
            3,
            0,
        ),
        (
            "markdown_tables/flagperf_zh_operation_benchmarks_tanh_iluvatar_BI150.md",
            "flagperf_operator_impl_choice",
            2,
            2,
        ),
        (
            "markdown_tables/flagperf_zh_operation_benchmarks_cross_entropy_loss_iluvatar_BI150.md",
            "flagperf_operator_impl_choice",
            2,
            2,
        ),
    ],
)
def test_rows_have_the_names_that_the_corpora_use(
    names: NameResolver, shared: Path, file: str, name: str, rows: int, known: int
) -> None:
    cases, report = ingest(names, shared / "formats" / file)
    assert (report.good, report.bad) == (rows, 0)
    reference = corpus(names, shared, name)
    found = [reference.get((case.problem.id, case.configuration.digest)) for case in cases]
    assert sum(case is not None for case in found) == known
    statuses = {
        (case.measurement.status, same.measurement.status)
        for case, same in zip(cases, found, strict=True)
        if same is not None
    }
    assert all(mine is theirs for mine, theirs in statuses)
