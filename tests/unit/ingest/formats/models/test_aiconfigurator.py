import sys
from pathlib import Path

import pytest

from kg.errors import MissingDependencyError
from kg.nouns.entities import Kind, Status
from kg.nouns.values import Settings
from tests.samples.readings import Reader

pyarrow = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
parquet = pytest.importorskip("pyarrow.parquet")

GEMM = {
    "framework": "VLLM",
    "version": "0.14.0",
    "device": "NVIDIA A100",
    "op_name": "gemm",
    "kernel_source": "vllm_default",
    "gemm_dtype": "bfloat16",
    "m": 8,
    "n": 32,
    "k": 64,
    "latency": 0.25,
}
MOE = {
    "framework": "SGLang",
    "version": "0.5.14",
    "device": "NVIDIA A100",
    "op_name": "moe",
    "kernel_source": "triton",
    "moe_dtype": "fp8_block",
    "num_tokens": 16,
    "hidden_size": 2048,
    "inter_size": 768,
    "topk": 8,
    "num_experts": 128,
    "moe_tp_size": 2,
    "moe_ep_size": 4,
    "distribution": "balanced",
    "latency": 0.5,
    "power": 300.5,
}
ATTENTION = {
    "framework": "TRTLLM",
    "version": "1.3.0rc20",
    "device": "NVIDIA A100",
    "op_name": "context_attention",
    "kernel_source": "torch_flow",
    "batch_size": 1,
    "isl": 128,
    "num_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "window_size": 0,
    "beam_width": 1,
    "attn_dtype": "bfloat16",
    "kv_cache_dtype": "fp8",
    "step": 0,
    "latency": 0.1,
}


def table(path: Path, *rows: dict[str, object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return path


def test_a_row_is_a_measured_case(tmp_path: Path, read_file: Reader) -> None:
    path = table(tmp_path / "a100_sxm" / "gemm" / "vllm" / "0.14.0" / "gemm_perf.parquet", GEMM)
    (case,), report = read_file(path)
    assert (report.format, report.bad) == ("aiconfigurator", 0)
    work = case.problem.workload
    assert (work.operator, work.precision) == ("gemm", "bfloat16")
    assert work.shape == Settings({"M": 8, "N": 32, "K": 64})
    assert (case.problem.hardware.name, case.problem.hardware.count) == ("nvidia-a100", 1)
    assert case.configuration == Settings({"framework": "vllm", "kernel_source": "vllm_default"})
    assert (case.measurement.metric, case.measurement.value, case.kind) == ("latency", 0.25e-3, Kind.MEASURED)
    assert case.software == Settings({"vllm": "0.14.0"})
    assert report.guesses == ()


def test_experts_run_on_as_many_devices_as_they_have_ranks(tmp_path: Path, read_file: Reader) -> None:
    (case,), report = read_file(table(tmp_path / "moe_perf.parquet", MOE))
    work = case.problem.workload
    assert (work.operator, work.precision) == ("moe_layer", "fp8_block")
    shape = {"num_tokens": 16, "hidden": 2048, "inter": 768, "topk": 8, "experts": 128}
    assert work.shape == Settings(shape)
    assert work.traits == Settings({"distribution": "balanced"})
    assert case.problem.hardware.count == 8
    assert case.configuration == Settings(
        {"framework": "sglang", "kernel_source": "triton", "moe_tp_size": 2, "moe_ep_size": 4}
    )
    assert report.guesses == ("column 'power' is a further measurement and is not kept",)


def test_several_formats_keep_their_roles(tmp_path: Path, read_file: Reader) -> None:
    (case,), _ = read_file(table(tmp_path / "context_attention_perf.parquet", ATTENTION))
    work = case.problem.workload
    assert work.precision == "attn=bfloat16,kv_cache=fp8"
    assert work.shape == Settings(
        {
            "batch_size": 1,
            "isl": 128,
            "num_heads": 64,
            "kv_heads": 4,
            "head_dim": 128,
            "window": 0,
            "step": 0,
        }
    )


def test_framework_and_version_may_come_from_the_path(tmp_path: Path, read_file: Reader) -> None:
    row = {name: item for name, item in GEMM.items() if name not in {"framework", "version"}}
    for path in (
        tmp_path / "vllm" / "0.14.0" / "gemm_perf.parquet",
        tmp_path / "a100_sxm_vllm_0.14.0_gemm_perf.parquet",
    ):
        (case,), _ = read_file(table(path, row))
        assert case.configuration["framework"] == "vllm"
        assert case.software == Settings({"vllm": "0.14.0"})


def test_a_version_against_the_path_is_told(tmp_path: Path, read_file: Reader) -> None:
    _, report = read_file(table(tmp_path / "vllm" / "0.9.0" / "gemm_perf.parquet", GEMM))
    assert report.guesses == ("version '0.14.0' is from the rows; the path says '0.9.0'",)


def test_bad_rows_are_told_by_number(tmp_path: Path, read_file: Reader) -> None:
    bad = [GEMM | {"latency": -1.0}, GEMM | {"latency": float("nan")}, GEMM | {"device": None}]
    cases, report = read_file(table(tmp_path / "gemm_perf.parquet", GEMM, *bad, GEMM))
    assert len(cases) == 2
    assert [fault.place for fault in report.faults] == ["row 2", "row 3", "row 4"]


def test_bytes_are_no_names(tmp_path: Path, read_file: Reader) -> None:
    cases, report = read_file(table(tmp_path / "gemm_perf.parquet", GEMM | {"device": b"NVIDIA A100"}))
    assert cases == []
    assert [str(fault) for fault in report.faults] == ["row 1: device: neither number nor text"]


def test_a_table_that_is_reused_has_no_data_here(tmp_path: Path, read_file: Reader) -> None:
    path = table(tmp_path / "gemm_perf.parquet", GEMM)
    (tmp_path / "reuse.yaml").write_text(
        "schema_version: 1\nreuse:\n- table: gemm_perf\n  from_version: 1.3.0rc20\n"
    )
    cases, report = read_file(path)
    assert cases == []
    (fault,) = report.faults
    assert "reuses 1.3.0rc20" in fault.reason


def test_notes_have_no_cases_but_are_told(tmp_path: Path, read_file: Reader) -> None:
    reuse = tmp_path / "reuse.yaml"
    reuse.write_text("reuse:\n- table: gemm_perf\n  from_version: 1.3.0rc20\n  reason: >-\n    because\n")
    cases, report = read_file(reuse)
    assert (cases, report.format, report.bad) == ([], "aiconfigurator-notes", 0)
    assert report.guesses == ("table gemm_perf: no data of its own; this version reuses those of 1.3.0rc20",)
    meta = tmp_path / "collection_meta.yaml"
    meta.write_text("tables:\n  gemm_perf:\n    status: complete\n  moe_perf:\n    status: partial\n")
    assert read_file(meta)[1].guesses == ("table moe_perf: its collection is partial",)


@pytest.mark.parametrize(
    "text", ["a: &a [1]\nreuse: *a\n", "reuse: !!python/object:os.system [ls]\n", "reuse: [", "- 1\n"]
)
def test_bad_notes_are_faults(tmp_path: Path, read_file: Reader, text: str) -> None:
    path = tmp_path / "reuse.yaml"
    path.write_text(text)
    cases, report = read_file(path)
    assert cases == []
    assert report.bad >= 1


@pytest.mark.parametrize("keep", [4, 100, 600])
def test_a_truncated_table_is_a_fault(tmp_path: Path, read_file: Reader, keep: int) -> None:
    path = table(tmp_path / "gemm_perf.parquet", GEMM)
    path.write_bytes(path.read_bytes()[:keep])
    cases, report = read_file(path)
    assert cases == []
    (fault,) = report.faults
    assert "no Parquet" in fault.reason


def test_a_table_without_latency_is_a_fault(tmp_path: Path, read_file: Reader) -> None:
    row = {name: item for name, item in GEMM.items() if name != "latency"}
    _, report = read_file(table(tmp_path / "gemm_perf.parquet", row))
    assert [str(fault) for fault in report.faults] == ["a table without a column latency"]


def test_samples(shared: Path, read_file: Reader) -> None:
    folder = shared / "formats" / "aiconfigurator"
    cases, report = read_file(folder / "a100_sxm_vllm_0.14.0_gemm_perf.parquet")
    assert (len(cases), report.bad) == (8925, 0)
    assert {case.measurement.status for case in cases} == {Status.OK}
    for name in ("reuse.yaml", "collection_meta.yaml"):
        assert (read_file(folder / name)[0], read_file(folder / name)[1].bad) == ([], 0)


def test_without_pyarrow_the_error_says_what_to_install(
    tmp_path: Path, read_file: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(tmp_path / "gemm_perf.parquet", GEMM)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match="needs pyarrow") as told:
        read_file(path)
    assert told.value.hint == "in a clone: pip install '.[parquet]'"
