import json
from pathlib import Path

from kg.nouns.entities import Kind, Status
from kg.nouns.values import Settings
from tests.samples.readings import Reader

CONFIG = {"BLOCK_M": 16, "num_warps": 4}


def table(folder: Path, text: str) -> Path:
    path = folder / "{K=512,block_size=[128,64],fp8=false,out_dtype=torch.bfloat16}_NVIDIA_A100.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_facts_come_from_braces_and_folders(tmp_path: Path, read_file: Reader) -> None:
    path = table(tmp_path / "triton_3.4.0" / "fp8_block_mm", json.dumps({"256": CONFIG}))
    (case,), report = read_file(path)
    assert report.format == "lightllm"
    work = case.problem.workload
    assert work.operator == "lightllm_fp8_block_mm"
    assert work.shape == Settings(
        {
            "K": 512,
            "block_size": [128, 64],
            "fp8": False,
            "out_dtype": "torch.bfloat16",
            "run_key": [256],
        }
    )
    assert case.problem.hardware.name == "nvidia-a100"
    assert case.software == Settings({"triton": "3.4.0"})
    assert (case.kind, case.measurement.status) == (Kind.WINNER, Status.NOT_MEASURED)


def test_levels_of_keys_become_one_key_from_the_outside(tmp_path: Path, read_file: Reader) -> None:
    path = table(
        tmp_path / "mla", json.dumps({"16": {"512": CONFIG, "y": CONFIG}, "2": {"4": {"8": CONFIG}}})
    )
    cases, report = read_file(path)
    assert [case.problem.workload.shape["run_key"] for case in cases] == [(16, 512), (2, 4, 8)]
    assert [fault.place for fault in report.faults] == ["key '16/y'"]


def test_levels_end(tmp_path: Path, read_file: Reader) -> None:
    text = '{"1":' * 50 + "{}" + "}" * 50
    cases, report = read_file(table(tmp_path / "k", text))
    assert cases == []
    assert report.bad == 1
