"""The difference of two ledgers adds up to the growth, and names what changed."""

from dataclasses import replace
from typing import Any

import pytest

from ingest.profiles.facts.run import Profile
from recommender.diagnosis.ledger.accounts import keep_ledger
from recommender.diagnosis.ledger.difference import LedgerDifference, subtract_ledgers


def subtract(now: Profile, before: Profile) -> LedgerDifference:
    found = subtract_ledgers((now, keep_ledger(now)), (before, keep_ledger(before)))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("changed", "operator", "fact"),
    [
        ({"extra": [("Cast", "AI_VECTOR_CORE", 60.0)] * 20}, "Cast", "is new"),
        ({"types": "FLOAT;FLOAT", "slower": 1.5}, "MatMulV3", "types DT_BF16;DT_BF16 -> FLOAT;FLOAT"),
        ({"pipes": {"aic_mac_ratio": 0.2, "aic_mte2_ratio": 0.9}, "slower": 1.5}, "MatMulV3",
         "cube at work -> waits for device memory"),
        ({"gap_us": 120.0}, "gap", None),
    ],
)  # fmt: skip
def test_the_growth_is_explained_to_the_microsecond(
    make: Any, changed: dict[str, Any], operator: str, fact: str | None
) -> None:
    before, now = make(), make(**changed)
    found = subtract(now, before)
    assert found.growth_us == pytest.approx(now.ranks[0].steps[0].step_us - before.ranks[0].steps[0].step_us)
    assert sum(item.growth_us for item in found.changes) == pytest.approx(found.growth_us)
    assert found.error < 1e-9
    assert found.changes[0].account.operator == operator
    assert fact is None or fact in found.changes[0].facts


def test_a_run_beside_itself_has_not_changed(make: Any) -> None:
    found = subtract(make(wait_ms=2.0), make(wait_ms=2.0))
    assert found.growth_us == 0
    assert all(item.growth_us == 0 and not item.facts for item in found.changes)


def test_waiting_that_one_run_alone_tells_apart_is_added_up(make: Any) -> None:
    before, now = make(wait_ms=2.0), make(wait_ms=3.0)
    [rank] = before.ranks
    blind = replace(before, ranks=(replace(rank, collectives=()),))
    [exposed] = [item for item in subtract(now, blind).changes if item.account.part == "exposed"]
    assert (exposed.before_us, exposed.now_us) == pytest.approx((2100, 3100))
