"""Laws of a diagnosis: causes are read off the ledger, whatever was done to the run."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.profiles.mechanism_scores import shipped, told
from benchmarks.profiles.mechanisms.of_traces import TRACED, TracedMechanism
from benchmarks.profiles.traced_runs import WORLDS, World, length_us, write
from ingest.profiles.facts.run import Profile
from ingest.profiles.folders import read_profile
from recommender.diagnosis.diagnosis import Diagnosis
from recommender.diagnosis.ledger.accounts import COMPUTING, EXPOSED, FREE, Account
from recommender.diagnosis.ledger.reasons import COPY
from recommender.diagnosis.patterns.gaps import NODES, PLACED

SIGNIFICANT = 0.05


def is_of(node: str, account: Account) -> bool:
    """True if time of an account may be named by a node."""
    wide, (network, _) = node, shipped()
    while wide in network.broader:
        wide = network.broader[wide]
    reasons = [reason for reason, name in NODES.items() if name == node]
    if reasons:
        return account.part == FREE and account.reason in {*reasons, PLACED.get(reasons[0], "")}
    if node == "host-bound":
        return account.part == FREE and account.reason != COPY
    if account.reason == COPY:
        return node in {"host-to-device-copy", "device-to-host-copies", "memory-copies", "pageable-memory"}
    if wide in {"compute", "memory"}:
        return account.part == COMPUTING
    return account.part == {"communication": EXPOSED, "data-loading": FREE}.get(wide, account.part)


def names(found: Diagnosis) -> list[tuple[tuple[str, ...], float]]:
    """Chain and cost of all that is named."""
    return [(item.cause.chain, item.cause.lost_us) for item in found.findings] + [
        (item.chain, item.lost_us) for item in found.others
    ]


def run_of(world: World, item: TracedMechanism, share: float, seed: int, folder: Path) -> Profile | None:
    random = np.random.default_rng(seed)
    step = length_us(world, random) / world.steps
    altered = item.change(world, step * share / (1 - share), random)
    return None if altered is None else read_profile(write(altered, random, folder / "run.pt.trace.json"))


runs = given(
    st.sampled_from(sorted(WORLDS)), st.sampled_from(TRACED), st.floats(0.02, 0.6), st.integers(0, 99)
)
few = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@few
@runs
def test_no_finding_costs_more_than_its_accounts_and_no_loss_above_the_mark_is_without_one(
    tmp_path: Path, job: str, item: TracedMechanism, share: float, seed: int
) -> None:
    run = run_of(WORLDS[job], item, share, seed, tmp_path)
    if run is None:
        return
    found = told(run, None)
    (rank,) = found.ledger.ranks
    for chain, lost_us in names(found):
        most = sum(
            us * len(rank.steps)
            for account, us in rank.mean_us.items()
            if any(is_of(node, account) for node in chain)
        )
        assert lost_us <= most * (1 + 1e-6), (chain, lost_us, most)
    for account, us in found.ledger.mean_us.items():
        if account.part in {FREE, EXPOSED} and us > SIGNIFICANT * found.ledger.mean_step_us:
            assert any(is_of(node, account) for chain, _ in names(found) for node in chain), account


@few
@runs
def test_a_difference_is_named_by_the_ledger(
    tmp_path: Path, job: str, item: TracedMechanism, share: float, seed: int
) -> None:
    base = read_profile(
        write(WORLDS[job], np.random.default_rng(seed + 100), tmp_path / "base.pt.trace.json")
    )
    run = run_of(WORLDS[job], item, share, seed, tmp_path)
    if run is None:
        return
    found = told(run, base)
    assert found.difference is not None
    assert found.difference.error < 1e-6
    for change in found.difference.changes:
        if (
            change.account.part in {FREE, EXPOSED}
            and change.growth_us > SIGNIFICANT * found.difference.now_us
        ):
            assert any(is_of(node, change.account) for chain, _ in names(found) for node in chain), change
    for chain, lost_us in names(found):
        grown = sum(
            max(0.0, change.growth_us)
            for change in found.difference.changes
            if any(is_of(node, change.account) for node in chain)
        )
        assert lost_us / len(found.ledger.ranks[0].steps) <= grown * 1.02 + 0.01 * found.difference.now_us


@pytest.mark.parametrize("job", sorted(WORLDS))
def test_the_same_job_again_accuses_nothing(tmp_path: Path, job: str) -> None:
    first, again = (
        read_profile(write(WORLDS[job], np.random.default_rng(seed), tmp_path / f"{seed}.pt.trace.json"))
        for seed in (1, 2)
    )
    assert told(again, first).findings == ()
