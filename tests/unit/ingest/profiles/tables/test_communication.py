"""Communication analysed by the profiler."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.profiles.folders import read_profile
from tests.samples.profile_files import OPERATOR, SPLIT


def test_waiting_is_told_from_transferring(folder: Any, rows: Any) -> None:
    home = folder(rows("MatMul"), SPLIT)
    content = {"step7": {"collective": {"hcom_allReduce__1@9": {
        "Communication Time Info": {"Start Timestamp(us)": 1.7e15, "Elapse Time(ms)": 10, "Transit Time(ms)": 2,
                                    "Wait Time(ms)": 7, "Synchronization Time(ms)": 7, "Idle Time(ms)": 1},
        "Communication Bandwidth Info": {"HCCS": {"Transit Size(MB)": 40, "Transit Time(ms)": 2, "Bandwidth(GB/s)": 20,
                                                  "Size Distribution": {"20.0": [2, 2.0]}}}},
        "Total Op Info": {"Communication Time Info": {"Elapse Time(ms)": 10}}}}}  # fmt: skip
    inside = next(home.rglob("ASCEND_PROFILER_OUTPUT"))
    (inside / "communication.json").write_text(json.dumps(content))
    [rank] = read_profile(home).ranks
    [item] = rank.collectives
    assert (item.elapse_ms, item.transit_ms, item.wait_ms) == (10, 2, 7)
    assert item.transfers[0].packets == ((20.0, 2, 2.0),)


@pytest.mark.parametrize(
    "damage", ['{"step7": {"collective": {"a": {"Communication Time Info"', "[1, 2]", "\x00\x01"]
)
def test_damaged_json_leaves_the_rest(folder: Any, rows: Any, damage: str) -> None:
    home = folder(rows("MatMul"), SPLIT)
    inside = next(home.rglob("ASCEND_PROFILER_OUTPUT"))
    (inside / "communication.json").write_text(damage)
    [rank] = read_profile(home).ranks
    assert rank.kernels is not None
    assert rank.collectives == ()


LINK = {"Transport Type": "HCCS", "Transit Size(MB)": 40, "Transit Time(ms)": 2, "Bandwidth(GB/s)": 20}


def test_the_analysis_of_msprof_has_no_steps(tmp_path: Path) -> None:
    home = tmp_path / "PROF_1" / "analyze"
    home.mkdir(parents=True)
    (home / "communication.json").write_text(
        json.dumps(
            {"hcom_send__1_0_1@9": OPERATOR, "hcom_allReduce__1@9": OPERATOR, "Total Op Info": OPERATOR}
        )
    )
    (home / "communication_matrix.json").write_text(json.dumps({"hcom_send__1_0_1@9": {"0-1": LINK}}))
    inside = tmp_path / "PROF_1" / "mindstudio_profiler_output"
    inside.mkdir()
    (inside / "op_summary_1.csv").write_text("Op Name,Task Start Time(us),Task Duration(us)\na,1,5\n")
    [rank] = read_profile(tmp_path).ranks
    assert [(item.name, item.is_p2p, item.wait_ms) for item in rank.collectives] == [
        ("hcom_send__1_0_1", True, 7.0), ("hcom_allReduce__1", False, 7.0),
    ]  # fmt: skip
    [link] = rank.links
    assert (link.source, link.target, link.operator, link.bandwidth_gb_s) == (
        "0",
        "1",
        "hcom_send__1_0_1",
        20.0,
    )
    assert len(rank.kernels or ()) == 1
