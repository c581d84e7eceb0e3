"""Hit rates of the second-level cache."""

from pathlib import Path

import pytest

from ingest.profiles.folders import read_profile


def test_cache_rates_by_operator_and_what_was_not_collected(home: Path) -> None:
    (home / "l2_cache_1.csv").write_text(
        "Device_id,Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n0,2,1,0.5,0.1,a\n0,2,2,0.7,1.3,a\n"
        "0,2,3,N/A,0.2,b\n"
    )
    [rank] = read_profile(home.parent).ranks
    a, b = rank.details.caches
    assert (a.name, a.count) == ("a", 2)
    assert a.hit_rate == pytest.approx(0.6)
    assert b.hit_rate is None
    assert "hit rates of the L2 cache" not in {item.what for item in rank.missing}


def test_without_one_hit_rate_it_is_said_how_to_collect_them(home: Path) -> None:
    (home / "l2_cache_1.csv").write_text("Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n2,1,N/A,0.1,a\n")
    [rank] = read_profile(home.parent).ranks
    missing = {item.what: item.how for item in rank.missing}
    assert "aic_metrics=L2Cache" in missing["hit rates of the L2 cache"]


def test_hits_counted_beside_kernels_make_the_same_rates(home: Path) -> None:
    (home / "op_summary_1.csv").write_text(
        "Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),aic_write_cache_hit,"
        "aic_write_cache_miss_allocate,aic_r0_read_cache_hit,aic_r0_read_cache_miss_allocate\n"
        "a,MatMul,AI_CORE,1,5,10,0,65,25\nb,Add,AI_VECTOR_CORE,9,5,N/A,N/A,N/A,N/A\n"
    )
    [rank] = read_profile(home.parent).ranks
    [use] = rank.details.caches
    assert (use.name, use.count, use.hit_rate) == ("MatMul", 1, 0.75)
