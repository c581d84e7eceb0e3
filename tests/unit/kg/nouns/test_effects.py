"""Effects: what a published baseline had on in the place of a strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kg.nouns.effects import settings_replaced
from kg.nouns.entities import Kind

if TYPE_CHECKING:
    from kg.nouns.values import Value


@pytest.mark.parametrize(
    ("configuration", "baseline", "against"),
    [
        ({"flash": True}, {"flash": False}, ""),
        ({"tp": 4, "cp": 2}, {"tp": 4, "cp": 1}, ""),
        ({"cp_algo": "ulysses"}, {"cp_algo": "ring"}, "cp_algo=ring"),
        ({"cp": 2}, {"cp": 1, "recompute": "full"}, "recompute=full"),
        ({"tp": 1}, {"tp": 8, "zero": 1}, "tp=8"),
        ({"draft": "suffix"}, {"draft": "none"}, ""),
    ],
)
def test_a_baseline_that_had_something_on_is_named(
    configuration: dict[str, Value], baseline: dict[str, Value], against: str
) -> None:
    assert settings_replaced(configuration, baseline, Kind.PUBLISHED) == against


def test_an_own_test_is_against_the_same_without_it() -> None:
    assert settings_replaced({"algo": "a"}, {"algo": "b"}, Kind.MEASURED) == ""
