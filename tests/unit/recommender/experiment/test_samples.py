"""Rounds that count: whole, of one session, and no warm-up."""

import pytest

from recommender.experiment.samples import Sample, rounds
from tests.unit.recommender.experiment.trials import design


def sample(number: int, arm: str, session: int = 0, of: int = 2, warm: bool = False) -> Sample:
    return Sample(session=session, round=number, slot=0, arm=arm, of=of, is_warmup=warm)


@pytest.mark.parametrize(
    ("others", "counted"),
    [
        ([], [0]),
        ([sample(1, "control")], [0]),  # cut in two
        ([sample(1, "control"), sample(1, "treatment", session=1)], [0]),
        ([sample(1, "control", warm=True), sample(1, "treatment", warm=True)], [0]),
        ([sample(1, "control", of=3), sample(1, "treatment")], [0]),
        ([sample(1, "control"), sample(1, "treatment")], [0, 1]),
    ],
)
def test_a_round_counts_that_is_whole(others: list[Sample], counted: list[int]) -> None:
    told = [sample(0, "control"), sample(0, "treatment"), *others]
    assert [item["control"].round for item in rounds(told, design())] == counted


def test_no_more_rounds_count_than_were_asked_for() -> None:
    told = [sample(number, arm) for number in range(9) for arm in ("control", "treatment")]
    assert len(rounds(told, design(pairs=6))) == 6
