"""Sums of communication by type."""

from pathlib import Path

from ingest.profiles.folders import read_profile


def test_communication_by_type(home: Path) -> None:
    (home / "communication_statistic_1.csv").write_text(
        "Device_id,OP Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n"
        "0,hcom_allReduce_,1,70,70,70,70,87.5\n0,hcom_send_,2,10,4,5,6,12.5\n"
    )
    [rank] = read_profile(home.parent).ranks
    first, second = rank.details.collective_sums
    assert (first.kind, first.count, first.total_us, first.share) == ("hcom_allReduce_", 1, 70.0, 0.875)
    assert (second.mean_us, second.max_us) == (5.0, 6.0)
    assert any("one of the two is cut" in note for note in rank.notes)  # 80 µs there, 70 in the kernels
    assert "waiting and transfer of collectives" in {item.what for item in rank.missing}
