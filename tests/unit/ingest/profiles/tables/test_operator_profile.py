"""``msprof op`` on a device; columns as in outputs of CANN 8.5."""

from pathlib import Path

import pytest

from ingest.profiles.folders import read_profile

BASIC = "Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq,\n"
PIPES = (
    "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_cube_ratio,aiv_time(us),aiv_total_cycles,aiv_vec_ratio,\n"
    "0,cube0,10.0,18000,0.5,NA,NA,NA,\n0,vector0,NA,NA,NA,20.0,36000,0.25,\n1,cube0,30.0,54000,0.7,NA,NA,NA,\n"
)


def operator(folder: Path, name: str, duration: float, suffix: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"OpBasicInfo{suffix}.csv").write_text(f"{BASIC}{name},mix,{duration},2,4,0,1,1500,1800,\n")
    (folder / f"PipeUtilization{suffix}.csv").write_text(PIPES)


def test_every_table_of_counters_is_read_core_by_core(tmp_path: Path) -> None:
    home = tmp_path / "OPPROF_1"
    operator(home, "add", 42.5)
    (home / "L2Cache.csv").write_text(
        "block_id,sub_block_id,aic_time(us),aic_write_cache_hit,aic_write_cache_miss_allocate,aic_total_hit_rate(%),\n"
        "0,cube0,10.0,3,1,75.0,\n1,cube0,30.0,2,2,50.0,\n"
    )
    (home / "ResourceConflictRatio.csv").write_text(
        "block_id,sub_block_id,aiv_time(us),aiv_vec_total_cflt_ratio,\n0,vector0,20.0,0.125,\n"
    )
    (home / "Memory.csv").write_text(
        "block_id,sub_block_id,aic_main_mem_read_bw(GB/s),\n0,cube0,1.0,\n1,cube0,3.0,\n"
    )
    (home / "MemoryUB.csv").write_text("block_id,sub_block_id,aiv_ub_read_bw_vector(GB/s),\n0,vector0,7.5,\n")
    [rank] = read_profile(home).ranks
    kernels = rank.kernels
    assert rank.layout == "msprof op"
    assert kernels is not None
    assert kernels.text("core", 0) == "MIX_AIC"
    told = {name: float(values[0]) for name, values in kernels.pipes.items()}
    assert told["aic_mac_ratio"] == pytest.approx(0.65)  # by the time of each core
    assert told["aicore_time(us)"] == 20.0  # averaged
    assert (told["aic_total_cycles"], told["aic_write_cache_hit"]) == (72000.0, 5.0)  # summed
    assert told["aic_main_mem_read_bw(GB/s)"] == 2.5
    assert told["aiv_ub_read_bw_vector(GB/s)"] == 7.5
    assert told["aiv_vec_total_cflt_ratio"] == 0.125
    assert [mhz for _, mhz in rank.frequency_mhz] == [1800, 1500]
    assert rank.missing == ()


def test_several_operators_of_one_run_are_kernels_of_one_rank(tmp_path: Path) -> None:
    operator(tmp_path / "OPPROF_1" / "add" / "0", "add", 5.0, "_20240603022812284")
    operator(tmp_path / "OPPROF_1" / "add" / "1", "add", 6.0, "_20240603022812999")
    operator(tmp_path / "OPPROF_1" / "mul" / "0", "mul", 7.0)
    [rank] = read_profile(tmp_path).ranks
    assert rank.kernels is not None
    assert sorted(rank.kernels.duration_us.tolist()) == [5.0, 6.0, 7.0]


def test_two_operators_in_one_folder_keep_their_own_counters(tmp_path: Path) -> None:
    operator(tmp_path / "OPPROF_1", "add", 5.0, "_1")
    operator(tmp_path / "OPPROF_1", "mul", 6.0, "_2")
    (tmp_path / "OPPROF_1" / "PipeUtilization_2.csv").write_text(PIPES.replace("0.5", "0.9"))
    [rank] = read_profile(tmp_path).ranks
    assert rank.kernels is not None
    assert rank.kernels.pipe("aic_mac_ratio").tolist() == [pytest.approx(0.65), pytest.approx(0.75)]


def test_without_counters_it_is_said_how_to_collect_them(tmp_path: Path) -> None:
    operator(tmp_path / "OPPROF_1", "add", 5.0)
    (tmp_path / "OPPROF_1" / "PipeUtilization.csv").unlink()
    [rank] = read_profile(tmp_path).ranks
    assert "counters of the cores" in {item.what for item in rank.missing}
