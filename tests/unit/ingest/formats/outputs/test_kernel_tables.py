"""Tables of kernel times, in the forms that the tools' sources and documentation show; not run here."""

from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from kg.nouns.entities import Status
from tests.samples.readings import written

CUTLASS = """CSV Results:

Problem,Provider,OperationKind,Operation,Disposition,Status,gemm_kind,m,n,k,A,B,C,alpha,beta,batch_count,cta_m,cta_n,stages,Bytes,Runtime,GB/s
1,CUTLASS,gemm,cutlass_simt_a,passed,success,universal,1024,512,256,f16:column,f16:row,f32:column,1,0,1,128,128,2,99,0.5,6.2
1,CUTLASS,gemm,cutlass_simt_b,not_run,invalid_problem,universal,1024,512,256,f16:column,f16:row,f32:column,1,0,1,128,64,2,0,0,0
1,CUTLASS,gemm,cutlass_simt_c,passed
"""
ROW = (
    "    T,N,0,1,1024,512,256,bf16_r,bf16_r,bf16_r,f32_r,none,66613.8,{time}\n    --Solution index: {index}\n"
)
HIPBLASLT = (
    "Device ID 0 : AMD Instinct MI300X gfx942:sramecc+:xnack-\nwith 206 GB memory, max. SCLK 2100 MHz, etc\n"
    "[0]:transA,transB,grouped_gemm,batch_count,m,n,k,a_type,b_type,d_type,compute_type,activation_type,"
    "hipblaslt-Gflops,us\n" + ROW.format(time=16.0, index=302128) + ROW.format(time=18.0, index=302130)
)
TENSILE = "GFlops, SizeI, SizeJ, SizeK, SizeL, TotalFlops, {}\nGFlops, 1024, 512, 2, 256, 268435456, {}\n"


def test_cutlass_kernels_are_settings_of_one_problem(tmp_path: Path, names: NameResolver) -> None:
    [first, second], report = written(tmp_path / "out.gemm.csv", CUTLASS, names, "A100")
    assert first.problem.id == second.problem.id
    work = first.problem.workload
    assert (work.operator, work.precision, dict(work.shape)) == (
        "gemm",
        "float16",
        {"M": 1024, "N": 512, "K": 256},
    )
    assert first.measurement.value == pytest.approx(0.5e-3)
    assert first.configuration["cta_n"] == 128
    assert first.configuration["Operation"] == "cutlass_simt_a"
    assert second.measurement.status is Status.FAILED
    assert "invalid_problem" in second.measurement.reason
    assert report.bad == 0


def test_hipblaslt_has_its_device_and_the_solution_behind_each_row(
    tmp_path: Path, names: NameResolver
) -> None:
    cases, report = written(tmp_path / "bench.txt", HIPBLASLT, names, "")
    assert report.bad == 0
    assert [case.measurement.value for case in cases] == pytest.approx([16e-6, 18e-6])
    assert [case.configuration["solution_index"] for case in cases] == [302128, 302130]
    assert {case.problem.hardware.reported for case in cases} == {"AMD Instinct MI300X"}
    assert cases[0].problem.workload.precision == "bfloat16"


@pytest.mark.parametrize(
    ("columns", "cells", "kernels"),
    [
        ("Cijk_a, Cijk_b, Cijk_c", "5000.0, 8000.0, 0", {"Cijk_a": 53.687e-6, "Cijk_b": 33.554e-6}),
        ("WinnerGFlops, WinnerTimeUS, WinnerIdx, WinnerName", "8000, 33.55, 1, Cijk_b", {"Cijk_b": 33.55e-6}),
    ],
)
def test_tensile_has_a_kernel_a_column_or_the_winner(
    columns: str, cells: str, kernels: dict[str, float], tmp_path: Path, names: NameResolver
) -> None:
    cases, _ = written(tmp_path / "00_Final.csv", TENSILE.format(columns, cells), names, "MI300X")
    assert {case.configuration["WinnerName"]: case.measurement.value for case in cases} == pytest.approx(
        kernels, rel=1e-4
    )
    assert dict(cases[0].problem.workload.shape) == {"M": 1024, "N": 512, "B": 2, "K": 256}


def test_a_table_without_hardware_says_what_is_missing(tmp_path: Path, names: NameResolver) -> None:
    cases, report = written(tmp_path / "out.gemm.csv", CUTLASS, names, "")
    assert not cases
    assert "tell it with --hardware" in str(report.faults[0])


@pytest.mark.parametrize(
    "text",
    [
        """==PROF== Connected to process 1
"ID","Host Name","Kernel Name","Block Size","Grid Size","CC","gpu__time_duration.sum","dram__bytes.sum"
"","","","","","","nsecond","byte"
"0","127.0.0.1","add(int, float*)","(128, 1, 1)","(64, 1, 1)","8.0","120,416","9"
"1","127.0.0.1","sgemm_nn","(128, 1, 1)","(64, 8, 1)","8.0","1,020,416","9"
""",
        """"ID","Host Name","Kernel Name","Block Size","Grid Size","CC","Metric Name","Metric Unit","Metric Value"
"0","127.0.0.1","add(int, float*)","(128, 1, 1)","(64, 1, 1)","8.0","gpu__time_duration.sum","us","120.416"
"0","127.0.0.1","add(int, float*)","(128, 1, 1)","(64, 1, 1)","8.0","dram__bytes.sum","byte","9"
"1","127.0.0.1","sgemm_nn","(128, 1, 1)","(64, 8, 1)","8.0","gpu__time_duration.sum","us","1,020.416"
""",
        # the details page of 2025.3: rows of metrics end with their value, those of rules go on
        """"ID","Host Name","Kernel Name","Block Size","Grid Size","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type"
"0","127.0.0.1","add(int, float*)","(128, 1, 1)","(64, 1, 1)","9.0","GPU Speed Of Light Throughput","Duration","us","120.416"
"0","127.0.0.1","add(int, float*)","(128, 1, 1)","(64, 1, 1)","9.0","SpeedOfLight","","","","SOLBottleneck","OPT"
"1","127.0.0.1","sgemm_nn","(128, 1, 1)","(64, 8, 1)","9.0","GPU Speed Of Light Throughput","Duration","ms","1.020416"
""",
    ],
)
def test_nsight_compute_has_a_kernel_or_a_metric_of_it_in_each_row(
    text: str, tmp_path: Path, names: NameResolver
) -> None:
    cases, report = written(tmp_path / "ncu.csv", text, names, "A100")
    assert report.bad == 0
    assert [case.measurement.value for case in cases] == pytest.approx([120.416e-6, 1020.416e-6])
    assert [case.problem.workload.operator for case in cases] == ["add(int, float*)", "sgemm_nn"]
    assert cases[1].configuration["Grid Size"] == "(64, 8, 1)"
