"""The measurement that is named is the one that would tell most of what is open."""

import numpy as np

from ingest.profiles.checks import KINETO
from ingest.profiles.facts.run import Profile, Rank
from recommender.diagnosis.ledger import reasons
from recommender.diagnosis.ledger.accounts import (
    COMPUTING,
    EXPOSED,
    FREE,
    GAP,
    Account,
    RankLedger,
    RunLedger,
)
from recommender.diagnosis.next_measurement import next_measurement


def run(layout: str, *accounts: tuple[Account, float]) -> tuple[Profile, RunLedger]:
    ledger = RankLedger(
        rank=0, name="", stage=None, steps=("1",), step_us=np.array([sum(us for _, us in accounts)]),
        accounts=tuple(account for account, _ in accounts), time_us=np.array([[us for _, us in accounts]]),
    )  # fmt: skip
    return Profile(path="", ranks=(Rank(rank=0, folder="", layout=layout),)), RunLedger(ranks=(ledger,))


KNOWN = (Account(COMPUTING, "MatMul", "cube at work"), 800.0)


def test_the_largest_open_account_counts() -> None:
    idle = (Account(FREE, GAP, reasons.HOST), 120.0)
    talks = (Account(EXPOSED, "hcom_allReduce", reasons.UNDIVIDED), 80.0)
    found = next_measurement(*run("Ascend PyTorch Profiler", KNOWN, idle, talks))
    assert found is not None
    assert "with_stack" in found.how
    assert (found.open_us, found.share) == (120.0, 0.12)


def test_gpus_are_told_their_own_way() -> None:
    talks = (Account(EXPOSED, "ncclKernel", reasons.UNDIVIDED), 300.0)
    found = next_measurement(*run(KINETO, KNOWN, talks))
    assert found is not None
    assert "all ranks of a group" in found.how
    computing = (Account(COMPUTING, "Gemm", "computing"), 900.0)
    assert next_measurement(*run(KINETO, computing)) is None


def test_nothing_is_asked_for_where_little_is_open() -> None:
    assert next_measurement(*run("msprof", KNOWN, (Account(FREE, GAP, reasons.HOST), 30.0))) is None
    assert next_measurement(Profile(path="", ranks=()), RunLedger(ranks=())) is None
