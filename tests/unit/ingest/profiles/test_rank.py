"""Tables of msprof beside kernels, with the columns that its writer gives them."""

import json
from pathlib import Path
from typing import Any

from ingest.profiles.folders import read_profile
from tests.samples.profile_databases import database
from tests.samples.profile_files import KERNELS, OPERATOR, SPLIT


def test_slices_of_one_table_are_one_table(home: Path) -> None:
    head, first, second = KERNELS.splitlines(keepends=True)
    (home / "op_summary_1.csv").unlink()
    (home / "op_summary_slice_0_1.csv").write_text(head + first)
    (home / "op_summary_slice_1_1.csv").write_text(head + second)
    [rank] = read_profile(home.parent).ranks
    assert rank.kernels is not None
    assert [rank.kernels.text("name", row) for row in range(2)] == ["hcom_allReduce__1_0_1", "a"]
    assert rank.notes == ()


def test_tables_of_several_devices_go_to_their_devices(home: Path) -> None:
    (home / "op_summary_1.csv").write_text(KERNELS + "1,b,MatMul,AI_CORE,1100,35\n")
    zero, one = read_profile(home.parent).ranks
    assert [len(rank.kernels or ()) for rank in (zero, one)] == [2, 1]


def test_one_table_of_several_devices_becomes_several_ranks(folder: Any, rows: Any) -> None:
    made = rows("MatMul", "MatMul", "Add")
    made[1]["Device_id"] = "3"
    profile = read_profile(folder(made))
    assert [rank.rank for rank in profile.ranks] == [0, 3]
    assert [len(rank.kernels or ()) for rank in profile.ranks] == [2, 1]


def test_raw_data_beside_what_was_made_of_it_counts_once(folder: Any, rows: Any) -> None:
    home = folder(rows("MatMul"), SPLIT)
    inside = next(home.rglob("ASCEND_PROFILER_OUTPUT"))
    raw = inside.parent / "PROF_000001_1_X"
    apis = "Level,API Name,Time(us),Count\nruntime,KernelLaunch,100,5\n"
    for place, suffix in ((inside, ""), (raw / "mindstudio_profiler_output", "_2025")):
        place.mkdir(parents=True, exist_ok=True)
        (place / f"api_statistic{suffix}.csv").write_text(apis)
    (raw / "analyze").mkdir()
    for place in (inside, raw / "analyze"):
        (place / "communication.json").write_text(json.dumps({"step7": {"collective": {"a@1": OPERATOR}}}))
    for place in (inside / "ascend_pytorch_profiler_0.db", raw / "msprof_1.db"):
        database(place)
    [rank] = read_profile(home).ranks
    assert [call.total_us for call in rank.calls] == [100.0]
    assert len(rank.collectives) == 1
    assert rank.kernels is not None
    assert rank.kernels.file.endswith("kernel_details.csv")
    assert not any("msprof_1.db" in file for file in rank.loads)
