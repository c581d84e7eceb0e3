"""Folders and files of profilers, as people have them and as they break."""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.profiles.folders import is_log, is_rocpd, read_profile
from kg.errors import InputError
from tests.samples.profile_files import SPLIT

ROOT = Path(__file__).resolve().parents[4]


def test_a_rank_of_which_nothing_can_be_read_is_told_beside_the_others(folder: Any, rows: Any) -> None:
    folder(rows("MatMul"), SPLIT, 0)
    home = folder(rows("MatMul"), None, 1)
    broken = next(home.rglob("*_1_ascend_pt")) / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    broken.write_text(broken.read_text().splitlines()[0] + "\nMatMul,1\n")
    profile = read_profile(home)
    assert [rank.rank for rank in profile.ranks] == [0]
    assert any("1 rows are cut or damaged" in note for note in profile.notes)


def test_ranks_that_links_name_and_nobody_profiled_are_told(folder: Any, rows: Any) -> None:
    home = folder(rows("MatMul"), SPLIT, 0)
    link = {
        "Transport Type": "HCCS",
        "Transit Size(MB)": 9.0,
        "Transit Time(ms)": 1.0,
        "Bandwidth(GB/s)": 9.0,
    }
    matrix = {"step7": {"collective": {"allreduce-total@1": {"0-1": link, "0-2": link}}, "p2p": {}}}
    [inside] = home.rglob("ASCEND_PROFILER_OUTPUT")
    (inside / "communication_matrix.json").write_text(json.dumps(matrix))
    assert any("name 3 ranks, of which 2 are not here (1, 2)" in note for note in read_profile(home).notes)


def test_a_folder_that_is_no_profile_says_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="not a profile") as caught:
        read_profile(tmp_path)
    assert "kernel_details.csv" in caught.value.hint


def test_the_profile_of_one_operator(tmp_path: Path) -> None:
    home = tmp_path / "OPPROF_1"
    home.mkdir()
    (home / "OpBasicInfo.csv").write_text(
        "Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq,\n"
        "add_custom,AI_VECTOR_CORE,42.5,48,0,0,1,1500,1800,\n"
    )
    (home / "PipeUtilization.csv").write_text(
        "block_id,sub_block_id,aiv_time(us),aiv_vec_ratio,aiv_scalar_ratio,aic_cube_ratio,\n"
        "0,vector0,40,0.2,0.9,NA,\n1,vector0,40,0.4,0.8,NA,\n"
    )
    [rank] = read_profile(home).ranks
    assert rank.layout == "msprof op"
    assert rank.kernels is not None
    assert rank.kernels.pipe("aiv_vec_ratio")[0] == pytest.approx(0.3)
    assert [mhz for _, mhz in rank.frequency_mhz] == [1800, 1500]


def test_ranks_of_different_steps_and_versions_are_told(folder: Any, rows: Any) -> None:
    folder(rows("MatMul"), SPLIT, 0)
    home = folder(rows("MatMul"), {**SPLIT, "Step": 8}, 1)
    for rank, version in ((0, "8.0"), (1, "8.3")):
        path = next(home.rglob(f"profiler_info_{rank}.json"))
        path.write_text(json.dumps({"rank_id": str(rank), "cann_version": version}))
    notes = " ".join(read_profile(home).notes)
    assert "different steps" in notes
    assert "8.0, 8.3" in notes


def test_text_is_a_log_and_a_profile_is_none(tmp_path: Path, folder: Any, rows: Any) -> None:
    (tmp_path / "train.log").write_text("RuntimeError: ACL error code 507014\n")
    assert is_log(tmp_path / "train.log")
    assert not is_log(next(folder(rows("MatMul")).rglob("kernel_details.csv")))


def test_every_real_sample_is_read_and_adds_up() -> None:
    samples = Path(os.environ.get("TUNEGRAPH_SHARED", ROOT.parent / "shared")) / "data" / "profiles"
    if not samples.is_dir():
        pytest.skip("no folder of real profiles: set TUNEGRAPH_SHARED")
    compared = 0
    for home in sorted(item for item in samples.iterdir() if item.is_dir()):
        for rank in read_profile(home).ranks:
            if rank.kernels is None:
                continue
            for step in rank.steps:
                if step.is_counted or any("cut" in note for note in rank.notes):
                    continue
                mine = float(np.nansum(rank.kernels.duration_us[rank.kernels.is_compute]))
                assert mine == pytest.approx(step.computing_us, abs=0.005 * step.step_us), home.name
                compared += 1
    assert compared


def test_real_samples_tell_what_their_formats_carry() -> None:
    samples = Path(os.environ.get("TUNEGRAPH_SHARED", ROOT.parent / "shared")) / "data" / "profiles"
    if not samples.is_dir():
        pytest.skip("no folder of real profiles: set TUNEGRAPH_SHARED")
    told = {
        name: read_profile(samples / name).ranks[0]
        for name in ("msinsight_text_level1", "msinsight_db_level1", "msinsight_st_level2")
    }
    for name, rank in told.items():
        assert rank.steps, name
        assert not rank.steps[0].is_counted, name
        assert rank.collectives, name
        assert all(
            item.wait_ms + item.transit_ms <= item.elapse_ms * 1.005 + 1e-6 for item in rank.collectives
        ), name
        assert rank.links, name
        assert rank.memory is not None, name
        assert rank.memory.peak_allocated_mb <= rank.memory.peak_reserved_mb, name
        assert {call.level for call in rank.calls} >= {"acl", "hccl"}, name
        held = {module.component: module for module in rank.details.modules}
        assert held["APP"].peak_mb > held["HCCL"].peak_mb > 0, name
    for name in ("msinsight_text_level1", "msinsight_db_level1"):
        assert len(told[name].frequency_mhz) > 1, name
    text, base = told["msinsight_text_level1"], told["msinsight_db_level1"]
    assert text.memory is not None
    assert base.memory is not None
    assert text.memory.peak_reserved_mb == base.memory.peak_reserved_mb  # the same job, run twice


FORMS = {
    "a.pftrace": "rocprofv3 --output-format csv",
    "b.nsys-rep": "nsys export --type sqlite",
    "c.ncu-rep": "nsys profile",
    "counters.csv": "nsys profile",
    "d.perfetto-trace": "torch.profiler",
    "7_results.db": "rocpd convert",
}


def write(path: Path) -> None:
    if path.suffix == ".db":
        with sqlite3.connect(path) as database:
            database.execute(
                "CREATE TABLE rocpd_kernel_dispatch_00a1 (id INTEGER, start INTEGER, end INTEGER)"
            )
        database.close()
    elif path.suffix == ".csv":
        path.write_text('==PROF== Connected\n"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n')
    else:
        path.write_bytes(b"\x00\x01")


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("in_a_folder", [False, True])
def test_they_say_how_to_convert_them(tmp_path: Path, name: str, in_a_folder: bool) -> None:
    home = tmp_path / "run" / "host"
    home.mkdir(parents=True)
    (home / "README.txt").write_text("of a run")
    path = home / name
    write(path)
    with pytest.raises(InputError, match="not read in this form") as fault:
        read_profile(tmp_path / "run" if in_a_folder else path)
    assert str(path) in str(fault.value)
    assert FORMS[name] in fault.value.hint


def test_a_folder_without_any_is_no_profile(tmp_path: Path) -> None:
    (tmp_path / "README.txt").write_text("of a run")
    with pytest.raises(InputError, match="not a profile"):
        read_profile(tmp_path)


def test_no_database_is_none_of_rocprofv3(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"SQLite format 3\x00 and nothing of it")
    assert not is_rocpd(path)
