"""A trace recorded on an H100: a diffusion model whose noise is drawn on the host in each step."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.profiles.facts.host_spans import OPERATOR, STEP, SpanBuilder
from ingest.profiles.facts.run import Profile
from ingest.profiles.folders import read_profile
from recommender.diagnosis.analysis import analyse
from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.ledger.accounts import COMPUTING, keep_ledger
from recommender.diagnosis.ledger.gaps import _charge_stalls, _held_up, times_of_gaps
from recommender.diagnosis.ledger.reasons import BEFORE, HOST, LAUNCH, UNSEEN_HOST
from recommender.diagnosis.rank.host_calls import COMPUTES, LONGEST_LAUNCH_US
from tests.unit.recommender.diagnosis.ledger.test_gaps import gaps_of

SAMPLE = Path(__file__).parents[3] / "samples" / "recorded" / "noise_on_the_host.pt.trace.json.gz"
MS = 1_000_000


@pytest.fixture(scope="module")
def profile() -> Profile:
    return read_profile(SAMPLE)


def test_operators_that_compute_on_the_host_have_the_gaps_they_cover(
    profile: Profile, network: Any, thresholds: Any
) -> None:
    [rank] = keep_ledger(profile).ranks
    reasons = {item.reason: us for item, us in rank.mean_us.items()}
    assert reasons[COMPUTES] > 1000
    found = {item.cause.node: item for item in diagnose(profile, network, thresholds).findings}
    assert "aten::randn" in found["code-high-latency-function"].cause.evidence[-1].says
    assert "precision-excess" not in found


def test_what_ran_before_the_first_step_costs_no_step_anything(profile: Profile, thresholds: Any) -> None:
    [rank] = keep_ledger(profile).ranks
    found = analyse(profile, thresholds)
    casts = sum(
        us for item, us in rank.mean_us.items() if item.part == COMPUTING and item.reason == "converts types"
    )
    assert found["cast-traffic"].lost_us <= casts * len(rank.steps) * 1.001


def test_a_late_start_has_the_gaps_behind_launches_that_follow_it() -> None:
    builder = SpanBuilder()
    builder.take(STEP, "", 0, 20_000.0)
    builder.take(OPERATOR, "aten::linear", 8 * MS, 12_000.0)
    spans = builder.build(np.arange(9 * MS, 20 * MS, MS // 10))
    assert spans is not None
    found = {BEFORE: np.array([1000.0]), LAUNCH: np.array([5000.0])}
    _charge_stalls(found, spans, np.array([4000.0]))
    assert found[BEFORE][0] == pytest.approx(5000)
    assert found[LAUNCH][0] == pytest.approx(1000)  # gaps as short as a switch between kernels stay


@pytest.mark.parametrize(("launches", "is_held"), [(20, True), (500, False)])
def test_the_host_never_gets_ahead_between_waits_that_are_close(launches: int, is_held: bool) -> None:
    builder = SpanBuilder()
    builder.take(STEP, "", 0, 100_000.0)
    for at in (MS // 2, 5 * MS):
        builder.take("runtime", "cudaStreamSynchronize", at, 10.0)
    spans = builder.build(np.linspace(MS, 4 * MS, launches).astype(np.int64))
    assert spans is not None
    assert _held_up(gaps_of({2: 100.0}, 1), spans).tolist() == [is_held]
    assert not _held_up(gaps_of({7: 100.0}, 1), spans).any()  # behind the last


def test_what_an_operator_takes_beyond_any_launch_is_the_hosts(profile: Profile) -> None:
    builder = SpanBuilder()
    builder.take("runtime", "cudaLaunchKernel", MS, 30.0)
    builder.take(OPERATOR, "aten::add", 2 * MS, 5000.0)
    spans = builder.build(np.array([MS, 7 * MS]))
    rank = replace(profile.ranks[0], calls=(), details=replace(profile.ranks[0].details, spans=spans))
    found = times_of_gaps(gaps_of({2: 5000.0}, 3), rank, 3)
    assert found[LAUNCH].sum() == pytest.approx(LONGEST_LAUNCH_US)
    assert sum(found[name].sum() for name in (HOST, UNSEEN_HOST) if name in found) == pytest.approx(4950)
