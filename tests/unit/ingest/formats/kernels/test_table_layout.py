import json
from pathlib import Path

from ingest.door.records import NameResolver
from ingest.formats.kernels.table_layout import file_name_facts
from ingest.reading import read
from kg.nouns.entities import Case, Kind, Status
from kg.nouns.values import Settings
from tests.samples.readings import ingest

CONFIG = {"BLOCK_SIZE_M": 16, "num_warps": 4, "waves_per_eu": 2}


def test_facts_come_from_file_and_folder_name(tmp_path: Path, names: NameResolver) -> None:
    name = "E=257,N=256,device_name=NVIDIA_A100-PCIE-40GB,dtype=fp8_w8a8,block_shape=[128, 128]_down.json"
    path = tmp_path / "triton_3_5_1" / name
    path.parent.mkdir()
    path.write_text(json.dumps({"1": CONFIG, "64": CONFIG}))
    (first, second), report = ingest(names, path)
    work = first.problem.workload
    assert (work.operator, work.precision) == ("fused_moe", "fp8_w8a8")
    assert work.shape == Settings({"M": 1, "N": 256, "E": 257})
    assert second.problem.workload.shape["M"] == 64
    assert work.traits == Settings({"gemm": "down", "block_shape": [128, 128]})
    assert (first.problem.hardware.name, first.problem.hardware.reported) == (
        "nvidia-a100",
        "NVIDIA A100-PCIE-40GB",
    )
    assert first.software == Settings({"triton": "3.5.1"})
    assert first.configuration == Settings(CONFIG)
    assert (first.kind, first.measurement.status) == (Kind.WINNER, Status.NOT_MEASURED)
    assert first.source.path == name
    assert (report.format, report.good, report.bad, report.guesses) == ("fused-moe", 2, 0, ())


def test_the_triton_version_in_the_file_is_kept_and_old_spellings_are_one(
    tmp_path: Path, names: NameResolver
) -> None:
    table = json.dumps({"triton_version": "3.6.0", "8": CONFIG})
    for dtype in ("float8", "fp8_w8a8"):
        (tmp_path / f"E=8,N=4,device_name=A100,dtype={dtype}.json").write_text(table)
    found = [item for item in read([tmp_path], names) if isinstance(item, Case)]
    assert len(found) == 2
    assert len({case.problem.id for case in found}) == 1
    assert {case.software["triton"] for case in found} == {"3.6.0"}


def test_block_shape_with_and_without_a_space_is_one() -> None:
    spaced = file_name_facts(Path("E=1,N=2,device_name=X,dtype=int8_w8a8,block_shape=[128, 128].json"))
    assert spaced["block_shape"] == "[128, 128]"
    assert list(spaced) == ["E", "N", "device_name", "dtype", "block_shape"]


def test_bad_entries_are_told_by_key(tmp_path: Path, names: NameResolver) -> None:
    path = tmp_path / "E=8,N=4,device_name=A100.json"
    path.write_text(json.dumps({"1": CONFIG, "0": CONFIG, "x": CONFIG, "²": CONFIG, "2": [], "4": {}}))
    cases, report = ingest(names, path)
    assert len(cases) == 1
    assert [fault.place for fault in report.faults] == ["key '0'", "key 'x'", "key '²'", "key '2'", "key '4'"]


def test_a_table_that_breaks_off_is_one_fault_with_its_line(tmp_path: Path, names: NameResolver) -> None:
    path = tmp_path / "E=8,N=4,device_name=A100.json"
    path.write_text('{"1": {"BLOCK_SIZE_M": 16},\n "2": {"BLO')
    cases, report = ingest(names, path)
    assert (cases, report.bad) == ([], 1)
    assert report.faults[0].reason.startswith("line 2: no JSON")
