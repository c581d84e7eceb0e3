import json
from pathlib import Path

from kg.nouns.entities import Kind, Status
from kg.nouns.values import Settings
from tests.samples.readings import Reader

NAME = "headdim=64,dstate=128,device_name=NVIDIA_GeForce_RTX_2080_Ti,cache_dtype=float32.json"


def test_facts_come_from_the_file_name(tmp_path: Path, read_file: Reader) -> None:
    path = tmp_path / NAME
    path.write_text(json.dumps({"8": {"BLOCK_SIZE_M": 4, "num_warps": 1}}))
    (case,), report = read_file(path)
    assert report.format == "mamba-state"
    work = case.problem.workload
    assert (work.operator, work.precision) == ("mamba_selective_state_update", "float32")
    assert work.shape == Settings({"headdim": 64, "dstate": 128, "batch": 8})
    assert case.problem.hardware.name == "rtx-2080-ti"
    assert case.configuration == Settings({"BLOCK_SIZE_M": 4, "num_warps": 1})
    assert (case.kind, case.measurement.status) == (Kind.WINNER, Status.NOT_MEASURED)


def test_samples_have_a_winner_for_each_key(shared: Path, read_file: Reader) -> None:
    files = sorted((shared / "formats" / "vllm_mamba_ssu").iterdir())
    assert len(files) == 2
    for path in files:
        cases, report = read_file(path)
        assert (len(cases), report.bad) == (12, 0)
        assert {case.problem.workload.shape["batch"] for case in cases} == {
            int(key) for key in json.loads(path.read_text()) if key != "triton_version"
        }
