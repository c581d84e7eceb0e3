import json
from pathlib import Path

import pytest

from kg.nouns.entities import Kind, Status
from kg.nouns.values import Settings
from tests.samples.readings import Reader

CONFIG = {"BLOCK_SIZE_M": 16, "num_warps": 4, "kpack": 2}
NAME = "N=1536,K=7168,device_name=NVIDIA_A100-PCIE-40GB,dtype=fp8_w8a8,block_shape=[128, 128].json"


def test_facts_come_from_the_file_name(tmp_path: Path, read_file: Reader) -> None:
    path = tmp_path / NAME
    path.write_text(json.dumps({"triton_version": "3.4.0", "1": CONFIG, "64": CONFIG}))
    (first, second), report = read_file(path)
    assert (report.format, report.good, report.bad) == ("block-gemm", 2, 0)
    work = first.problem.workload
    assert (work.operator, work.precision) == ("w8a8_block_fp8_gemm", "fp8_w8a8")
    assert work.shape == Settings({"M": 1, "N": 1536, "K": 7168})
    assert second.problem.workload.shape["M"] == 64
    assert work.traits == Settings({"block_shape": [128, 128]})
    assert first.problem.hardware.name == "nvidia-a100"
    assert first.configuration == Settings(CONFIG)
    assert first.software == Settings({"triton": "3.4.0"})
    assert (first.kind, first.measurement.status) == (Kind.WINNER, Status.NOT_MEASURED)


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ('{"1": {"a": 1}, "x": {"a": 1}}', "key 'x'", "no size"),
        ('{"1": {"a": 1}, "0": {"a": 1}}', "key '0'", "no size"),
        ('{"1": {"a": 1}, "2": {}}', "key '2'", "empty configuration"),
        ('{"1": {"a": 1}, "2": 5}', "key '2'", "no configuration"),
        ('{"1": {"a": 1}, "2": {"3": {"a": 1}}}', "key '2'", "a table where"),
        ('{"1": {"a": 1}, "2": {"a": 1e999}}', "key '2'", "finite"),
    ],
)
def test_a_bad_entry_spoils_no_other(
    tmp_path: Path, read_file: Reader, text: str, place: str, reason: str
) -> None:
    path = tmp_path / NAME
    path.write_text(text)
    cases, report = read_file(path)
    assert len(cases) == 1
    (fault,) = report.faults
    assert fault.place == place
    assert reason in fault.reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"1": {"a": 1}', "line 1: no JSON"),
        ("[1]", "expected an object"),
        ('{"1":' * 100_000, "nested without end"),
        ('{"1": {"a": ' + "9" * 5000 + "}}", "no JSON"),
    ],
)
def test_a_bad_file_is_one_fault(tmp_path: Path, read_file: Reader, text: str, reason: str) -> None:
    path = tmp_path / NAME
    path.write_text(text)
    cases, report = read_file(path)
    assert cases == []
    (fault,) = report.faults
    assert reason in fault.reason


def test_samples_have_a_winner_for_each_key(shared: Path, read_file: Reader) -> None:
    files = sorted((shared / "formats" / "vllm_block_fp8_gemm").iterdir())
    assert len(files) == 6
    for path in files:
        cases, report = read_file(path)
        assert (len(cases), report.bad) == (18, 0)
        assert {case.problem.workload.shape["M"] for case in cases} == {
            int(key) for key in json.loads(path.read_text()) if key != "triton_version"
        }
        assert {case.kind for case in cases} == {Kind.WINNER}
