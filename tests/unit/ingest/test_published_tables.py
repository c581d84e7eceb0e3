"""Argonne, llm-foundry, Megatron-Bridge, FlagPerf, NeMo, MindFormers, SGLang recipes: files as published."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from ingest.reading import FileReport, read
from kg.nouns.entities import Case, Kind, Status

if TYPE_CHECKING:
    from pathlib import Path

    from ingest.door.records import NameResolver


def ingest(names: NameResolver, path: Path, hardware: str = "") -> tuple[list[Case], FileReport]:
    *cases, report = read([path], names, hardware=hardware)
    assert isinstance(report, FileReport)
    return [case for case in cases if isinstance(case, Case)], report


def corpus(names: NameResolver, shared: Path, name: str) -> dict[tuple[str, str], Case]:
    found = read([shared / f"cases/{name}.jsonl.gz"], names)
    return {(case.problem.id, case.configuration.digest): case for case in found if isinstance(case, Case)}


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


def test_argonne_power_is_in_milliwatts_and_one_card_has_one_name(names: NameResolver, shared: Path) -> None:
    cases, report = ingest(names, shared / "formats/argonne_csv/power_results_A100.csv")
    assert (report.good, report.bad) == (48, 0)
    power = [case.measurement.value for case in cases if case.measurement.metric == "power"]
    assert len(power) == 24
    assert all(value is not None and 50 < value < 500 for value in power)
    assert "avg_power names no unit; taken as mW by its size" in report.guesses
    cases, _ = ingest(names, shared / "formats/argonne_csv/All_results.EXCERPT.csv")
    reported = {"Intel PVC GPU", "Intel Max 1550"}
    assert len({c.problem.hardware.name for c in cases if c.problem.hardware.reported in reported}) == 1


def test_argonne_parallelisms_have_one_spelling(names: NameResolver, shared: Path) -> None:
    cases, report = ingest(names, shared / "formats/argonne_csv/TP_EP_PP_results.csv")
    assert Counter(case.configuration["parallelism"] for case in cases) == {
        "Tensor Parallelism": 197,
        "Pipeline Parallelism": 79,
        "Expert Parallelism": 4,
        "Hybrid TP = 2 and PP = 2": 7,
        "Hybrid TP = 2 and EP = 2": 4,
    }
    assert sum("is read as" in guess for guess in report.guesses) == 4


def test_an_argonne_row_with_a_word_for_a_number_is_told(names: NameResolver, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "Hardware,Num of Hardware,Framework,Model,Input Output Length,Batch Size,Latency,Throughput\n\n"
        "A100,1,vLLM,m,128,1,2,oom\nA100,1,vLLM,m,128,1,2\nA100,1,vLLM,m,128,1,,\nA100,1,vLLM,m,128,1,2,7\n"
    )
    cases, report = ingest(names, tmp_path / "a.csv")
    assert [case.measurement.value for case in cases] == [None, 7.0]
    assert [str(fault) for fault in report.faults] == [
        "line 3: Throughput: 'oom' is no number",
        "line 4: 7 cells, where the header has 8",
    ]


def test_megatron_rows_with_parentheses_are_two_runs(names: NameResolver, tmp_path: Path) -> None:
    (tmp_path / "m.md").write_text(
        "## 25.11 NeMo Container\n### Pre-Training Performance\n#### System: DGX-GB200\n\n"
        "| Model | #-GPUs | Precision | GBS | MBS | Sequence Length | FSDP | TP | VP | Tokens / sec / GPU |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n"
        "| LLAMA3_8B (x) | 8 | FP8-CS (FP8-MX) | 128 | 2 | 8192 | 64 (0) | 1 | n/a | 37556 (36108) |\n"
        "| LLAMA3_8B | 8 | FP8-CS | 128 | 2 | 8192 | 0 | 1 | 1 | |\n| too | short |\n"
    )
    cases, report = ingest(names, tmp_path / "m.md")
    assert [case.measurement.value for case in cases] == [37556, 36108, None]
    assert [case.configuration["fsdp"] for case in cases] == [64, 0, 0]
    assert cases[0].configuration["vp"] is None
    assert [case.problem.workload.precision for case in cases] == ["fp8-cs", "fp8-mx", "fp8-cs"]
    assert cases[0].problem.workload.model == "LLAMA3_8B"
    assert cases[0].software["nemo-container"] == "25.11"
    assert cases[2].measurement.status is Status.UNKNOWN
    assert {case.kind for case in cases} == {Kind.PUBLISHED}
    assert [str(fault) for fault in report.faults] == ["line 9: 2 cells, where the header has 10"]


def test_flagperf_settings_and_layouts(names: NameResolver, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "- 加速卡型号: A100\n\n| 指标名称 | 指标值 |\n| --- | --- |\n| 模型 | glm |\n\n"
        "| 配置 | precision | fix_hp | p_core |\n| --- | --- | --- | --- |\n"
        "| A100单机8卡（1x8） | fp16 | bs=24,lr=0.00035 | 25.5 |\n| A100两机8卡（2x8） | fp16 | / | |\n"
        "| A100 | fp16 | bs=1 | 2 |\n| A100单卡（1x1） | fp16 | fast | 2 |\n"
    )
    cases, report = ingest(names, tmp_path / "README.md")
    assert dict(cases[0].configuration) == {"precision": "fp16", "bs": 24, "lr": 0.00035}
    assert [case.problem.hardware.count for case in cases] == [8, 16]
    assert [case.measurement.value for case in cases] == [25.5, None]
    assert [fault.place for fault in report.faults] == ["line 11", "line 12"]


def test_nemo_rows_are_winners_without_a_result(names: NameResolver, shared: Path) -> None:
    cases, report = ingest(names, shared / "formats/nemo_recommended_configs/model_configs_b200.csv")
    assert (report.good, report.bad) == (43, 0)
    assert {(case.kind, case.measurement.status) for case in cases} == {(Kind.WINNER, Status.NOT_MEASURED)}
    floats = next(case for case in cases if case.problem.workload.model == "llama4 e128")
    assert (floats.configuration["tp"], floats.problem.hardware.count) == (8, 256)
    assert isinstance(floats.configuration["tp"], int)
    assert floats.configuration["recompute_modules"] is None
    assert Counter(case.problem.workload.operator for case in cases)["pretrain"] == 30


def test_a_model_card_is_joined_with_its_yaml(names: NameResolver, shared: Path) -> None:
    items = list(read([shared / "formats/mindformers"], names))
    cases = [item for item in items if isinstance(item, Case)]
    card = next(item for item in items if isinstance(item, FileReport) and item.format)
    assert (card.good, card.bad) == (1, 3)
    assert [fault.place for fault in card.faults] == ["line 17", "line 18", "line 24"]
    case = cases[0]
    assert (case.measurement.value, case.measurement.unit) == (337, "tokens/s/device")
    assert case.problem.hardware.count == 64
    assert case.problem.hardware.reported == "Atlas 900 A2 PoDc"
    assert case.problem.workload.shape["num_layers"] == 80
    assert case.problem.workload.precision == "bfloat16"
    settings = case.configuration
    assert (settings["parallel_config.pipeline_stage"], settings["framework"]) == (8, "mindformers")
    assert settings["recompute_config.select_recompute"] == (10, 8, 6, 4, 2, 0, 0, 0)
    assert any("beside the card is taken for it" in guess for guess in card.guesses)


CARD = """由 A100 硬件环境下测试

| Config | Task | SeqLength | Performance | Phase |
|---|---|---|---|---|
| [m](m.yaml) | t | 128 | 5 tokens/s | Predict |
"""


@pytest.mark.parametrize(
    ("yaml", "link", "reason"),
    [
        ("a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", "m.yaml", ""),
        (
            "a0: &a0 [1,1,1,1,1,1,1,1,1]\n"
            + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)),
            "m.yaml",
            "values with its aliases written out",
        ),
        ("a: !!python/object/apply:os.system [x]\n", "m.yaml", "no YAML: could not determine a constructor"),
        ("a: &a [*a]\n", "m.yaml", "a value that holds itself"),
        ("a: [", "m.yaml", "no YAML"),
        ("", "m.yaml", "has no sections"),
        ("a: 1", "../../../../etc/hosts.yaml", "outside of the card's folder"),
        ("a: 1", "m.txt", "links no YAML"),
    ],
)
def test_yaml_that_does_harm_is_refused(
    names: NameResolver, tmp_path: Path, yaml: str, link: str, reason: str
) -> None:
    (tmp_path / "README.md").write_text(CARD.replace("m.yaml", link))
    (tmp_path / "m.yaml").write_text(yaml)
    cases, report = ingest(names, tmp_path / "README.md")
    if reason:
        assert [fault.place for fault in report.faults] == ["line 5"]
        assert reason in report.faults[0].reason
    else:
        assert len(cases) == 1


def test_recipes_are_targets_with_roles(names: NameResolver, shared: Path) -> None:
    path = shared / "formats/ascend_serving_recipes/sglang_ascend_best_practice.EXCERPT.mdx"
    cases, report = ingest(names, path)
    assert (report.good, report.bad) == (8, 0)
    assert {case.kind for case in cases} == {Kind.TARGET}
    reference = corpus(names, shared, "sglang_ascend_serving_recipes")
    problems = {problem for problem, _ in reference}
    assert sum(case.problem.id in problems for case in cases) == 6  # two refer to another's commands
    mine = cases[0]
    theirs = next(case for (problem, _), case in reference.items() if problem == mine.problem.id)
    more = set(mine.configuration.items()) - set(theirs.configuration.items())
    assert {name for name, _ in more} == {
        "prefill.env.HCCL_BUFFSIZE",
        "prefill.env.TASK_QUEUE_ENABLE",
        "prefill.env.SGLANG_NPU_FUSED_MOE_MODE",
        "prefill.env.SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK",
    }
    assert set(theirs.configuration.items()) <= set(mine.configuration.items())
    assert (mine.configuration["prefill.tp-size"], mine.configuration["decode.tp-size"]) == (16, 32)
    assert [(limit.metric, limit.maximum) for limit in mine.problem.limits] == [("tpot", 0.05)]
    assert cases[4].configuration == cases[3].configuration


def test_a_recipe_without_a_server_or_with_an_open_quotation_is_told(
    names: NameResolver, tmp_path: Path
) -> None:
    (tmp_path / "r.md").write_text(
        "### M 2K-2K 50ms on Atlas 800I A3 8 Cards Mixed Mode\n\n```bash\necho hello\n```\n"
        "### N 2K-2K 50ms on Atlas 800I A3 8 Cards Mixed Mode\n\n```bash\n"
        "python -m sglang.launch_server --tp-size '16\n```\n"
        "### O 2K-2K 50ms on Atlas 800I A3 8 Cards Mixed Mode\nPlease turn to [P](#p)\n"
    )
    _, report = ingest(names, tmp_path / "r.md")
    assert [str(fault) for fault in report.faults] == [
        'line 8: a command with an open quotation: "python -m sglang.launch_server --tp-size \'16"',
        "line 1: launches no server",
        "line 6: launches no server",
        "line 11: refers to 'P', which is not here",
    ]
