from pathlib import Path

import pytest

from ingest.formats.kernels.aiter_csv import operator_in
from kg.nouns.entities import Kind, Status
from kg.nouns.values import Settings
from tests.samples.readings import Reader

GEMM = "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n"
FMOE = (
    "cu_num,token,expert,act_type,dtype,q_dtype_a,use_g1u1,block_m,us1,kernelName1,err1,us,tflops,bw,_tag\n"
)


def test_formats_and_switches_are_of_the_task(tmp_path: Path, read_file: Reader) -> None:
    path = tmp_path / "tuned_fmoe.csv"
    formats = "ActivationType.Silu,torch.bfloat16,torch.float8_e4m3fn"
    row = f"256,1,257,{formats},1,32,21.4,ck,0.8%,30.2567,2.81,4.0,\n"
    path.write_text(FMOE + row)
    (case,), report = read_file(path)
    work = case.problem.workload
    assert (work.operator, work.shape) == ("fmoe_mixed", Settings({"token": 1, "expert": 257}))
    assert work.precision == "dtype=bfloat16,q_dtype_a=float8_e4m3fn"
    assert work.traits == Settings({"act_type": "ActivationType.Silu", "use_g1u1": 1})
    assert case.configuration == Settings({"block_m": 32, "kernelName1": "ck"})
    assert any("no architecture: 256 compute units are taken as gfx950" in guess for guess in report.guesses)
    assert case.problem.hardware.reported == "AMD Instinct MI350X/MI355X (gfx950, 256 CU)"


@pytest.mark.parametrize("time", ["inf", "0", "-1"])
def test_no_time_is_a_failure(tmp_path: Path, read_file: Reader, time: str) -> None:
    path = tmp_path / "bf16_tuned_gemm.csv"
    path.write_text(f"{GEMM}gfx942,304,1,768,7168,ck,8,0,{time},k,0.48,239.15,0.0\n")
    (case,), _ = read_file(path)
    assert (case.measurement.status, case.measurement.value) == (Status.FAILED, None)


def test_a_table_without_times_has_winners(tmp_path: Path, read_file: Reader) -> None:
    path = tmp_path / "tuned_fhmoe.csv"
    path.write_text("gfx,cu_num,token,block_m\ngfx950,256,1,32\n")
    (case,), _ = read_file(path)
    assert (case.kind, case.measurement.status) == (Kind.WINNER, Status.NOT_MEASURED)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("gfx942,304,1,768", "4 cells, where the header has 13"),
        ("gfx942,many,1,768,7168,ck,8,0,23.0,k,0.4,239,0", "cu_num"),
        ("gfx942,304,1,768,7168,ck,8,0,nan,k,0.4,239,0", "NaN"),
        ("gfx942,304,1,768,7168,ck,8,0,fast,k,0.4,239,0", "not a number"),
        ("gfx942,304,1,768,7168,ck,8,0,,k,0.4,239,0", "outcome.value: missing"),
        ('gfx942,304,1,768,7168,ck,8,0,1.0,"k,0.4,239,0', "no CSV"),
    ],
)
def test_a_bad_row_spoils_no_other(tmp_path: Path, read_file: Reader, bad: str, reason: str) -> None:
    good = "gfx942,304,1,768,7168,ck,8,0,23.0552,k,0.48,239.15,0.0"
    path = tmp_path / "bf16_tuned_gemm.csv"
    path.write_text(f"{GEMM}{good}\n{bad}\n{good}\n")
    cases, report = read_file(path)
    assert len(cases) == 2
    (fault,) = report.faults
    assert fault.place == "line 3"
    assert reason in fault.reason


@pytest.mark.parametrize(
    ("stem", "operator"),
    [
        ("a4w4_blockscale_tuned_gemm", "gemm_a4w4"),
        ("a8w8_blockscale_bpreshuffle_tuned_gemm_dsv3", "gemm_a8w8_blockscale_bpreshuffle"),
        ("bf16_tuned_batched_gemm", "batched_gemm_bf16"),
        ("qwen3_235b_bf16_tuned_fmoe", "fmoe_bf16"),
        ("kimik3_a8w4_tuned_fmoe", "fmoe_mixed"),
        ("chunk_gdn_h_tuned", "chunk_gdn_h_mixed"),
    ],
)
def test_the_operator_is_in_the_file_name(stem: str, operator: str) -> None:
    assert operator_in(stem) == operator
