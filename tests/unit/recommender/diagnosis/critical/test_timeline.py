"""Every instant of a stretch is counted once."""

from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.run import Rank
from recommender.diagnosis.critical.timeline import timeline_of
from recommender.diagnosis.ledger.accounts import GAP


def test_computing_counts_before_communication_and_nothing_twice() -> None:
    builder = KernelBuilder("k.csv")
    for row, (name, core, start, lasts) in enumerate(
        (("A", "AI_CORE", 0, 100), ("B", "AI_CORE", 50, 100), ("hcom_x", "COMMUNICATION", 120, 100), ("C", "AI_CORE", 300, 10))
    ):  # fmt: skip
        builder.add(row, start * 1000, duration_us=float(lasts), name=name, kind=name, core=core)
    line = timeline_of(Rank(rank=0, folder="", layout="x", kernels=builder.done()), "")
    assert line is not None
    assert line.between(0, 310) == {"A": 100.0, "B": 50.0, "C": 10.0, "hcom_x": 70.0, GAP: 80.0}
    assert line.between(60, 130) == {"A": 40.0, "B": 30.0}
    assert line.between(10, 10) == {}
    assert (line.begin_us, line.finish_us) == (0.0, 310.0)


def test_a_rank_without_times_has_no_timeline() -> None:
    assert timeline_of(Rank(rank=0, folder="", layout="x"), "") is None
