"""Hypotheses judged by tests."""

from dataclasses import replace

import pytest

from kg.nouns.knowledge import CONFIRMED, REFUTED
from kg.nouns.outcomes import Outcome
from recommender.evolution.step import verdict
from tests.unit.recommender.evolution.test_incompatibilities import outcome


def judged(*verdicts: str) -> list[Outcome]:
    ran = {"better": 0.1, "worse": -0.1, "equivalent": 0.0, "undecided": 0.02}
    return [
        replace(outcome(number, {"batch": 1}, runs=True), verdict=name, gain=ran[name])
        for number, name in enumerate(verdicts)
    ]


@pytest.mark.parametrize(
    ("verdicts", "kind"),
    [
        ((), ""),
        (("undecided",), ""),
        (("better",), CONFIRMED),
        (("worse",), REFUTED),
        (("worse", "better"), REFUTED),
    ],
)
def test_more_that_found_it_better_than_not_confirm_it(verdicts: tuple[str, ...], kind: str) -> None:
    assert verdict(judged(*verdicts))[0] == kind


def test_what_never_ran_is_refuted_with_what_failed() -> None:
    kind, reason = verdict([outcome(1, {"batch": 1}, runs=False)])
    assert kind == REFUTED
    assert "never ran: 8 runs failed" in reason
