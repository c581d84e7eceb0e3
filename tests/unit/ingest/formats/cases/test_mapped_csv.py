from pathlib import Path

import pytest
import yaml

from ingest.door.columns import Quantity, quantity
from ingest.door.records import NameResolver
from ingest.formats.cases.mapping_draft import suggest_mapping
from ingest.reading import FileReport, read
from kg.errors import CaseFormatError, InputError
from kg.nouns.entities import Status
from tests.samples.readings import ingest

TABLE = "Device,GPUs,tile,Latency (ms),State,Extra\nA100,2,16,3.5,done,x\n"
TABLE += "A100,2,32,,crashed,y\nA100,2,8,4,odd,z\n"
MAPPING = """
format: tunegraph-mapping
version: 1
task: {kind: operator, op: gemm}
hardware: {name: {column: Device}, count: {column: GPUs}}
shape: {M: 64}
config: {tile: {column: tile}, framework: mine}
metrics: [{column: Latency (ms), metric: latency, unit: ms}]
status: {column: State, ok: [done], failed: [crashed]}
"""


def test_a_mapping_beside_a_table_explains_it(names: NameResolver, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "t.mapping.yaml").write_text(MAPPING)
    cases, report = ingest(names, tmp_path / "t.csv")
    assert [(case.measurement.status, case.measurement.value) for case in cases] == [
        (Status.OK, 0.0035),
        (Status.FAILED, None),
    ]
    assert dict(cases[0].configuration) == {"tile": 16, "framework": "mine"}
    assert (cases[0].problem.hardware.name, cases[0].problem.hardware.count) == ("nvidia-a100", 2)
    assert dict(cases[0].problem.workload.shape) == {"M": 64}
    assert [str(fault) for fault in report.faults] == [
        "line 4, Latency (ms): State: 'odd' is not explained by the mapping"
    ]
    assert report.guesses == ("columns that the mapping leaves out: Extra",)
    skipped = [item.skipped for item in read([tmp_path], names) if isinstance(item, FileReport)]
    assert "the mapping of a table" in skipped


def test_a_mapping_can_be_given(names: NameResolver, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "other.yaml").write_text(MAPPING)
    cases, _ = ingest(names, tmp_path / "t.csv", mapping=tmp_path / "other.yaml")
    assert len(cases) == 2
    with pytest.raises(InputError, match="a mapping would explain it"):
        list(read([tmp_path / "t.csv"], names))


@pytest.mark.parametrize(
    ("mapping", "reason"),
    [
        (MAPPING.replace("unit: ms", "unit: '? which'"), "to be answered first: metrics[0].unit (which)"),
        (MAPPING.replace("column: tile", "column: tyle"), "no column 'tyle', which the mapping names"),
        (MAPPING.replace("version: 1", "version: 2"), "version 2; this is version 1"),
        ("a: 1", "no mapping (format: tunegraph-mapping)"),
        ("[", "no YAML"),
        (MAPPING.replace("metrics: [", "metricx: ["), "without metrics there is no result"),
        (MAPPING.replace("[done]", "done"), "status.ok: a list"),
    ],
)
def test_a_mapping_that_is_none_or_unfinished_is_told(
    names: NameResolver, tmp_path: Path, mapping: str, reason: str
) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "t.mapping.yaml").write_text(mapping)
    cases, report = ingest(names, tmp_path / "t.csv")
    assert cases == []
    assert reason in str(report.faults[0])


def test_a_draft_answers_what_headers_tell_and_asks_the_rest(names: NameResolver, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    text = suggest_mapping(tmp_path / "t.csv")
    draft = yaml.safe_load(text)
    assert draft["hardware"] == {"name": {"column": "Device"}, "count": {"column": "GPUs"}}
    assert draft["metrics"] == [{"column": "Latency (ms)", "metric": "latency", "unit": "ms"}]
    assert draft["status"] == {
        "column": "State",
        "failed": ["crashed"],
        "ok": ["done", "? does 'odd' mean that it went well"],
    }
    assert draft["task"]["kind"].startswith("?")
    (tmp_path / "t.mapping.yaml").write_text(text)
    _, report = ingest(names, tmp_path / "t.csv")
    assert "to be answered first" in str(report.faults[0])
    answered = text.replace("'? kernel, operator, training, serving or hpc'", "operator")
    answered = answered.replace("'? what runs (gemm, pretrain, serve)'", "gemm")
    answered = answered.replace("\"? does 'odd' mean that it went well\"", "odd")
    answered = answered.replace("'? does ''odd'' mean that it went well'", "odd")
    (tmp_path / "t.mapping.yaml").write_text(answered)
    cases, report = ingest(names, tmp_path / "t.csv")
    assert ([case.measurement.value for case in cases], report.bad) == ([0.0035, None, 0.004], 0)


def test_headers_may_be_chinese(names: NameResolver, tmp_path: Path) -> None:
    head = "模型名称,芯片,卡数,张量并行度,并发数,输入长度,输出长度,输出吞吐（tokens/s）,首token时延（ms）"
    (tmp_path / "t.csv").write_text(f"{head}\nQwen3-32B,昇腾910B3,4,2,64,2048,512,1345,1890\n")
    text = suggest_mapping(tmp_path / "t.csv")
    assert "?" not in text.partition("\n")[2]
    (tmp_path / "t.mapping.yaml").write_text(text)
    cases, _ = ingest(names, tmp_path / "t.csv")
    assert [(case.measurement.metric, case.measurement.value) for case in cases] == [
        ("throughput", 1345), ("ttft", 1.89),
    ]  # fmt: skip
    work = cases[0].problem.workload
    assert (work.shape["input_len"], dict(cases[0].configuration)) == (2048, {"tp": 2})


def test_a_table_that_names_its_kernels_is_of_kernels(names: NameResolver, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("kernel,device,N,num_warps,time_us\nsoftmax,ascend-910b3,1024,4,5.5\n")
    text = suggest_mapping(tmp_path / "t.csv")
    assert "?" not in text.partition("\n")[2]
    (tmp_path / "t.mapping.yaml").write_text(text)
    cases, report = ingest(names, tmp_path / "t.csv")
    assert ([case.problem.workload.kind for case in cases], report.bad) == (["kernel"], 0)


def test_a_table_of_answers_is_of_serving(names: NameResolver, tmp_path: Path) -> None:
    head = "model,gpu,num_gpus,max_num_seqs,input_len,output_len,output_throughput_tok_s,ttft_p99_ms"
    (tmp_path / "t.csv").write_text(f"{head}\nqwen3-8b,ascend-910b3,4,64,1024,256,900.5,350\n")
    text = suggest_mapping(tmp_path / "t.csv")
    assert "?" not in text.partition("\n")[2]
    (tmp_path / "t.mapping.yaml").write_text(text)
    cases, report = ingest(names, tmp_path / "t.csv")
    assert ({case.problem.workload.kind for case in cases}, report.bad) == ({"serving"}, 0)
    assert {case.measurement.metric for case in cases} == {"throughput", "ttft_p99"}


def test_a_table_that_a_team_keeps_is_read_as_its_readers_do(names: NameResolver, tmp_path: Path) -> None:
    """Program and release are no settings, dates are of no run, and a word in the place of a number is an end."""
    head = (
        "date,gpu,num_gpus,model,engine,engine_version,tp,quant,input_len,output_len,total_tok_per_s,tpot_ms"
    )
    rows = ["8,fp8,1024,256,8120.5,14.2", "1,fp8,1024,256,OOM,-", "2,fp8,1024,256,9000,n/a"]
    lines = [f"2026-09-01,A100,8,qwen3-8b,vllm,0.11.0,{row}" for row in rows]
    (tmp_path / "t.csv").write_text("\n".join([head, *lines]) + "\n")
    text = suggest_mapping(tmp_path / "t.csv")
    assert "?" not in text.partition("\n")[2]
    (tmp_path / "t.mapping.yaml").write_text(text)
    cases, report = ingest(names, tmp_path / "t.csv")
    assert report.bad == 0
    measured = {(case.measurement.metric, case.measurement.status) for case in cases}
    assert measured == {
        ("total_throughput", Status.OK),
        ("total_throughput", Status.OUT_OF_MEMORY),
        ("tpot", Status.OK),
        ("tpot", Status.UNKNOWN),
    }
    assert {frozenset(case.configuration) for case in cases} == {frozenset({"framework", "tp"})}
    assert {dict(case.software)["vllm"] for case in cases} == {"0.11.0"}
    assert {case.problem.workload.precision for case in cases} == {"fp8"}


def test_a_run_whose_end_nobody_noted_is_neither_done_nor_failed(names: NameResolver, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "kernel,gpu,tile,status,time_us\ng,A100,1,ok,2\ng,A100,2,n/a,3\ng,A100,4,oom,\n"
    )
    (tmp_path / "t.mapping.yaml").write_text(suggest_mapping(tmp_path / "t.csv"))
    cases, report = ingest(names, tmp_path / "t.csv")
    ended = [case.measurement.status for case in cases]
    assert (ended, report.bad) == ([Status.OK, Status.UNKNOWN, Status.OUT_OF_MEMORY], 0)


def test_a_backend_that_is_no_program_is_a_setting(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("gpu,backend,latency_ms\nA100,triton_mla,2\nA100,flash,3\n")
    assert yaml.safe_load(suggest_mapping(tmp_path / "t.csv"))["config"] == {"backend": {"column": "backend"}}


def test_a_column_of_results_without_a_telling_name_is_a_question(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("tile,score,power\n1,0.5,2\n2,0.25,3\n4,0.75,4\n")
    draft = yaml.safe_load(suggest_mapping(tmp_path / "t.csv"))
    assert draft["config"] == {"tile": {"column": "tile"}}
    assert [item["metric"][0] for item in draft["metrics"]] == ["?", "p"]
    assert draft["metrics"][1]["unit"] == "? W or mW (values up to 4)"


def test_implementations_side_by_side_are_rows_of_their_own(tmp_path: Path, names: NameResolver) -> None:
    (tmp_path / "t.csv").write_text(
        "gfx,G,N,hip_us,triton_us,speedup\ngfx942,8,64,4.5,3.5,0.7\ngfx942,8,32,2,4,2\n"
    )
    text = suggest_mapping(tmp_path / "t.csv")
    draft = yaml.safe_load(text)
    assert draft["hardware"] == {"name": {"column": "gfx"}}
    assert set(draft["shape"]) == {"G", "N"}
    assert [(item["unit"], item["config"]) for item in draft["metrics"]] == [
        ("us", {"implementation": "hip"}),
        ("us", {"implementation": "triton"}),
    ]
    assert "'speedup'" in text.splitlines()[1]
    draft["task"] = {"kind": "kernel", "op": "grouped_gemm"}
    (tmp_path / "t.mapping.yaml").write_text(yaml.safe_dump(draft))
    cases, _ = ingest(names, tmp_path / "t.csv")
    assert [dict(case.configuration)["implementation"] for case in cases[:2]] == ["hip", "triton"]
    assert [case.measurement.value for case in cases[:2]] == pytest.approx([4.5e-6, 3.5e-6])


def test_what_is_no_table_gets_no_draft(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("")
    with pytest.raises(CaseFormatError, match="no rows under a header"):
        suggest_mapping(tmp_path / "t.csv")
    with pytest.raises(InputError):
        suggest_mapping(tmp_path / "missing.csv")


@pytest.mark.parametrize(
    ("name", "metric", "unit"),
    [
        ("throughput/tokens_per_sec_per_gpu", "throughput", "tokens/s/gpu"),
        ("throughput/device/tokens_per_sec", "throughput", "tokens/s/device"),
        ("Tokens/s", "throughput", "tokens/s"),
        ("time_ms", "run_time", "ms"),
        ("Latency (us)", "latency", "us"),
        ("tpot_s_mean", "tpot", "s"),
        ("peak_memory_GB", "peak_memory", "GB"),
        ("prefill tok/s", "prefill_throughput", "tok/s"),
        ("gen_tps", "throughput", "tokens/s"),
        ("sec/iter", "step_time", "sec"),
        ("speed (s/it)", "step_time", "s"),
        ("TFLOPS", "compute_rate", "TFLOPS"),
    ],
)
def test_columns_tell_what_they_measure(name: str, metric: str, unit: str) -> None:
    assert quantity(name) == Quantity(metric=metric, unit=unit)


@pytest.mark.parametrize(
    "name", ["loss", "block_size_x", "tile (wide)", "", "timestamp", "max_seq_len", "tok/s/user", "https"]
)
def test_columns_that_measure_nothing_known(name: str) -> None:
    assert quantity(name) is None


def test_a_spreadsheet_with_decimal_commas_and_thousands_is_read(tmp_path: Path, names: NameResolver) -> None:
    table = tmp_path / "messung.csv"
    table.write_text("Block;Laufzeit [ms];Gerät\n64;1.001,25;A100\n128;0,95;A100\n", encoding="utf-8")
    draft = yaml.safe_load(suggest_mapping(table))
    assert [(item["column"], item["unit"]) for item in draft["metrics"]] == [("Laufzeit [ms]", "ms")]
    draft["task"] = {"kind": "kernel", "op": "toy"}
    draft["hardware"] = {"name": {"column": "Gerät"}}
    (tmp_path / "messung.mapping.yaml").write_text(yaml.safe_dump(draft))
    cases, _ = ingest(names, table)
    assert [case.measurement.value for case in cases] == pytest.approx([1.00125, 0.95e-3])
    table.write_text('Block,"Laufzeit [ms]",Gerät\n64,"1,001.25",A100\n', encoding="utf-8")
    cases, _ = ingest(names, table)
    assert [case.measurement.value for case in cases] == pytest.approx([1.00125])
