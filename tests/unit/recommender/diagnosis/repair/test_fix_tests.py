"""What the replay of a repair says of an accusation."""

from dataclasses import replace
from typing import Any

import pytest

from ingest.profiles.facts.run import Profile
from recommender.diagnosis.analysis import analyse, ratios
from recommender.diagnosis.causes.findings import LIKELY, LikelyCause, likely_causes
from recommender.diagnosis.causes.posterior import infer
from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.rank.collectives import lateness_us
from recommender.diagnosis.rank.repairs import arrive_earlier
from recommender.diagnosis.repair.fix_tests import FAILED, FixTest, fix_test, weigh


def two(make: Any, *, late_waits_ms: float, other_waits_ms: float) -> Profile:
    """Rank 0 is held up by its host; rank 1 waits in the collective."""
    late, other = make(gap_us=100.0, wait_ms=late_waits_ms, rank=0), make(wait_ms=other_waits_ms, rank=1)
    return Profile(path="run", ranks=(*late.ranks, *other.ranks))


def accused_of(profile: Profile, network: Any, thresholds: Any, cause: str) -> LikelyCause:
    found = analyse(profile, thresholds)
    return next(a for a in likely_causes(network, found, infer(network, ratios(found))) if a.node == cause)


def test_who_waits_as_long_as_its_peer_does_not_hold_it_up(make: Any, network: Any, thresholds: Any) -> None:
    late, other = make(gap_us=100.0, wait_ms=5.0, rank=0), make(wait_ms=4.0, rank=1, slower=2.45)
    profile = Profile(path="run", ranks=(*late.ranks, *other.ranks))
    found = diagnose(profile, network, thresholds).findings
    assert found[0].cause.node != "host-bound"
    for item in found[1:]:
        if item.cause.node == "host-bound":
            assert item.fix is not None
            assert not item.fix.holds
            assert item.fix.saved_us == 0


def test_a_rank_that_is_longer_than_its_peers_is_its_own_symptom(
    make: Any, network: Any, thresholds: Any
) -> None:
    """An edge that the replay refutes is dropped; the cause stays, with what its own repair saves."""
    found = diagnose(two(make, late_waits_ms=5.0, other_waits_ms=4.0), network, thresholds).findings
    first = found[0]
    assert first.cause.chain == ("host-bound",)
    assert first.fix is not None
    assert first.fix.holds
    assert first.fix.saved_us == pytest.approx(first.cause.lost_us, rel=0.02)


def test_idle_time_that_all_ranks_have_explains_no_waiting(make: Any, network: Any, thresholds: Any) -> None:
    ranks = [*make(gap_us=100.0, wait_ms=6.0, rank=0).ranks, *make(gap_us=98.0, wait_ms=6.0, rank=1).ranks]
    found = diagnose(Profile(path="run", ranks=tuple(ranks)), network, thresholds).findings
    chains = {item.cause.node: item.cause.chain for item in found}
    assert chains["host-bound"] == ("host-bound",)
    assert chains["collective-wait"] == ("exposed-communication", "collective-wait")


def test_a_rank_that_comes_late_passes(make: Any, network: Any, thresholds: Any) -> None:
    profile = two(make, late_waits_ms=0.1, other_waits_ms=4.0)
    before = accused_of(profile, network, thresholds, "host-bound")
    test = fix_test(profile, before, thresholds)
    assert test is not None
    assert test.holds
    assert test.share_after < test.share_before
    assert weigh(before, test).chance == before.chance


def test_a_wait_falls_by_no_more_than_the_lateness(make: Any) -> None:
    late, other = two(make, late_waits_ms=3.0, other_waits_ms=4.0).ranks
    assert lateness_us(other, late) == pytest.approx(1000.0)
    assert lateness_us(late, other) == 0.0
    eased = arrive_earlier(other, 1000.0)
    assert lateness_us(other, eased) == pytest.approx(1000.0)
    assert other.steps[0].step_us - eased.steps[0].step_us == pytest.approx(1000.0)


def outcome(eased_us: float, measured_us: float | None = None, modelled_us: float | None = None) -> FixTest:
    return FixTest(
        factor=1.1, symptom="host-bound", share_before=0.3, share_after=0.2, eased_us=eased_us,
        measured_us=measured_us, modelled_us=modelled_us,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("test", "low", "high"),
    [
        (outcome(5.0), 1.0, 1.0),
        (outcome(0.0), FAILED, FAILED),
        (outcome(5.0, 100.0, 20.0), 0.9, 1.0),
        (outcome(5.0, 100.0, 100.0), FAILED**0.5 - 1e-9, FAILED**0.5 + 1e-9),
        (outcome(5.0, 100.0, 400.0), FAILED, FAILED + 1e-6),
        (outcome(0.0, 100.0, 400.0), FAILED**2, FAILED**2 + 1e-6),
    ],
)
def test_what_a_test_takes_is_bounded(
    test: FixTest, low: float, high: float, make: Any, network: Any, thresholds: Any
) -> None:
    assert low <= test.ratio <= high
    accused = accused_of(make(gap_us=140.0), network, thresholds, "host-bound")
    after = weigh(accused, test).chance
    assert after <= accused.chance
    assert after > 0.0


def test_a_cause_that_the_test_leaves_unlikely_is_not_told(make: Any, network: Any, thresholds: Any) -> None:
    profile = make(gap_us=140.0)
    weak = 0.6
    found = accused_of(profile, network, thresholds, "host-bound")
    lowered = weigh(replace(found, chance=weak), outcome(0.0))
    assert lowered.chance < LIKELY
    assert lowered.chance == pytest.approx(FAILED * weak / (FAILED * weak + 1 - weak))


def test_an_idle_host_is_not_why_a_rank_computes_longer(make: Any, network: Any, thresholds: Any) -> None:
    idle, slow = make(gap_us=100.0, rank=0), make(slower=1.6, rank=1)
    found = diagnose(Profile(path="run", ranks=(*idle.ranks, *slow.ranks)), network, thresholds).findings
    assert {item.cause.node for item in found} == {"host-bound", "slow-rank"}
    assert all("slow-rank" not in item.cause.chain[:-1] for item in found)


def test_what_all_ranks_lose_alike_makes_none_the_slow_one(make: Any, network: Any, thresholds: Any) -> None:
    casts = [("Cast", "AI_VECTOR_CORE", 60.0)] * 30
    alike = Profile(path="run", ranks=(*make(casts, rank=0).ranks, *make(casts, rank=1, slower=1.5).ranks))
    found = diagnose(alike, network, thresholds).findings
    assert next(item.cause.chain for item in found if item.cause.node == "cast-traffic") == ("cast-traffic",)
    assert any(item.cause.node == "slow-rank" for item in found)
    own = Profile(path="run", ranks=(*make(rank=0).ranks, *make(casts, rank=1).ranks))
    first = diagnose(own, network, thresholds).findings[0].cause
    assert first.chain[-2:] == ("slow-rank", "cast-traffic")
