"""A stage of more work is named with the operators that make it."""

import numpy as np
import pytest

from recommender.diagnosis.critical.stages import unequal_stages
from recommender.diagnosis.ledger.accounts import COMPUTING, FREE, GAP, Account, RankLedger, RunLedger


def ledger(stage: int | None, **operators: float) -> RankLedger:
    accounts = (*(Account(COMPUTING, name, "computing") for name in operators), Account(FREE, GAP, ""))
    spent = [*operators.values(), 1000.0 - sum(operators.values())]
    return RankLedger(
        rank=0, name="", stage=stage, steps=("1",), step_us=np.array([1000.0]), accounts=accounts,
        time_us=np.array([spent]),
    )  # fmt: skip


def test_the_larger_stage_and_its_operators() -> None:
    ranks = (
        ledger(0, MatMul=300.0, Embed=20.0),
        ledger(1, MatMul=310.0, NllLoss=150.0),
        ledger(1, MatMul=310.0, NllLoss=150.0),
    )
    found = unequal_stages(RunLedger(ranks=ranks))
    assert found is not None
    assert found.stage == 1
    assert found.more_us == pytest.approx(140.0)
    assert list(found.operators) == ["NllLoss", "MatMul", "Embed"]
    assert sum(found.operators.values()) == pytest.approx(found.more_us)


def test_like_stages_and_unknown_ones_are_not_named() -> None:
    assert unequal_stages(RunLedger(ranks=(ledger(0, A=300.0), ledger(1, A=310.0)))) is None
    assert unequal_stages(RunLedger(ranks=(ledger(None, A=300.0), ledger(None, A=900.0)))) is None
    assert unequal_stages(RunLedger(ranks=())) is None
