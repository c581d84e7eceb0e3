"""A profile as a map of heat."""

import json
from pathlib import Path

import pytest

from ingest.profiles.facts.run import Profile
from ingest.profiles.folders import read_profile
from recommender.diagnosis import heat_map as heat_maps
from recommender.diagnosis.heat_map import MOST_ROWS, heat_map

HEADER = (
    "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,aic_mac_ratio"
)


def profile(folder: Path, ranks: int, kinds: int = 2, each: int = 3, slow_rank: int = -1) -> Profile:
    """Ranks of ``kinds`` operators; operator 0 is three times slower on one of them."""
    for rank in range(ranks):
        inside = folder / f"rank_{rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        inside.mkdir(parents=True)
        (inside.parent / f"profiler_info_{rank}.json").write_text(json.dumps({"rank_id": rank}))
        lines, at = [HEADER], 0.0
        for kind in range(kinds):
            for number in range(each):
                us = 10 * (kinds - kind) * (3 if rank == slow_rank and kind == 0 else 1) + number
                lines.append(
                    f"1,Op{kind}_{number},Op{kind},AI_CORE,170000000{at:09.1f},{us},0.5,24,{0.25 * (kind + 1)}"
                )
                at += us
        (inside / "kernel_details.csv").write_text("\n".join(lines) + "\n")
        (inside / "step_trace_time.csv").write_text(
            "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage\n"
            f"1,{at},{at / 10},0,{at / 10},{at / 5},{1.3 * at + 1}\n"
        )
    return read_profile(folder)


def test_shares_units_and_longest_rows(tmp_path: Path) -> None:
    heat = heat_map(profile(tmp_path, ranks=2, slow_rank=1))
    assert heat is not None
    assert heat["ranks"] == ["0", "1"]
    first, second = heat["operators"]
    assert first["name"] == "Op0"
    assert first["n"] == 6
    assert first["us"] == pytest.approx(63 + 183)
    assert first["by_rank"] == pytest.approx([63 / 125.8, 183 / 281.8], abs=2e-3)
    assert second["by_unit"][heat["units"].index("cube")] == pytest.approx(0.5)
    assert second["by_unit"][heat["units"].index("vector")] is None
    cell = [row for row in heat["rows"] if row[0] == 0 * 2 + 1]
    assert [row[4] for row in cell] == [62, 61, 60]
    assert [heat["texts"][row[2]] for row in cell] == ["Op0_2", "Op0_1", "Op0_0"]
    assert [row[1] for row in cell] == [4, 3, 2]
    assert heat["files"][1].endswith("rank_1_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv")


def test_a_large_run_keeps_the_costly_operators_and_the_ranks_that_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heat_maps, "MOST_OPERATORS", 5)
    monkeypatch.setattr(heat_maps, "MOST_RANKS", 4)
    heat = heat_map(profile(tmp_path, ranks=8, kinds=7, each=1, slow_rank=6))
    assert heat is not None
    assert len(heat["ranks"]) == 4
    assert heat["ranks_left_out"] == 4
    assert "6" in heat["ranks"]
    assert [item["name"] for item in heat["operators"]] == [f"Op{kind}" for kind in range(5)]
    assert len(heat["rows"]) == 5 * 4


def test_no_more_rows_than_are_read(tmp_path: Path) -> None:
    heat = heat_map(profile(tmp_path, ranks=1, each=MOST_ROWS + 7))
    assert heat is not None
    assert len(heat["rows"]) == 2 * MOST_ROWS


def test_what_was_not_collected_has_no_map(tmp_path: Path) -> None:
    folder = tmp_path / "only_steps"
    folder.mkdir()
    (folder / "step_trace_time.csv").write_text(
        "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n1,5,1,0,1,1\n"
    )
    assert heat_map(read_profile(folder)) is None
