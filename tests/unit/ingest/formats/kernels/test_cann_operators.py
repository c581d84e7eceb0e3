"""Averaged operator times with the columns of Ascend's profilers."""

from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from tests.samples.readings import written

HEADER = "OP State,Input Shapes,Input Data Types,Output Shapes,Average Duration(us)"


@pytest.mark.parametrize(
    ("inputs", "output", "sizes"),
    [
        ("8,512;256,512", "8,256", {"M": 8, "N": 256, "K": 512}),  # the weight is transposed
        ("8,512;512,256", "8,256", {"M": 8, "N": 256, "K": 512}),
        ("512,8;512,256", "8,256", {"M": 8, "N": 256, "K": 512}),  # the activations are
        ("4,8,512;4,512,256", "4,8,256", {"M": 8, "N": 256, "K": 512, "B": 4}),
    ],
)
def test_a_matrix_product_has_its_sizes(
    inputs: str, output: str, sizes: dict[str, int], tmp_path: Path, names: NameResolver
) -> None:
    text = f'{HEADER}\ndynamic,"{inputs}",DT_BF16;DT_BF16,"{output}",5.2\n'
    [case], _ = written(tmp_path / "MatMulV3.csv", text, names, "910B3")
    work = case.problem.workload
    assert (work.operator, work.precision, dict(work.shape)) == ("gemm", "bfloat16", sizes)
    assert case.measurement.value == pytest.approx(5.2e-6)


def test_columns_of_sizes_are_sizes_and_none_is_zero(tmp_path: Path, names: NameResolver) -> None:
    rows = [f'dynamic,"{heads},128",DT_BF16,"8,128",50.0,attention,{heads}' for heads in (8, 0)]
    text = "\n".join([f"{HEADER},Op Type,Num Heads", *rows])
    [case], report = written(tmp_path / "Fused.csv", text, names, "910B3")
    assert (case.problem.workload.operator, dict(case.problem.workload.shape)) == (
        "attention",
        {"num_heads": 8},
    )
    assert "Num Heads: 0" in str(report.faults[0])
