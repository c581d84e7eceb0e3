"""Plans as content."""

import pytest

from kg.nouns.layout import ParallelLayout
from recommender.ranking.change import Change, NotHere
from recommender.ranking.plan.plan import Plan
from recommender.ranking.start import StartConfiguration


@pytest.mark.parametrize(("fits", "whole"), [(True, True), (None, True), (False, False)])
def test_a_plan_fits_unless_its_start_does_not(*, fits: bool | None, whole: bool) -> None:
    assert Plan(start=StartConfiguration(fits=fits)).fits == whole


def test_a_plan_as_json_has_all_of_its_parts() -> None:
    plan = Plan(
        understood={"devices": 8},
        start=StartConfiguration(framework="vllm", layout=ParallelLayout(tp=8)),
        alternatives=(StartConfiguration(layout=ParallelLayout(dp=8)),),
        changes=(Change(id="i", title="first", strategy="s"),),
        further=(Change(id="j", title="second"),),
        not_here=(NotHere(strategy="n", because="it is the default"),),
    )
    json = plan.to_json()
    assert list(json) == [
        "understood",
        "start",
        "alternatives",
        "changes",
        "further",
        "not_here",
        "missed_limits",
    ]
    assert json["understood"] == {"devices": 8}
    assert json["start"]["layout"]["tp"] == 8
    assert json["alternatives"][0]["layout"]["dp"] == 8
    assert [change["id"] for change in json["changes"]] == ["i"]
    assert json["further"] == [{"title": "second", "strategy": None}]
    assert json["not_here"][0]["because"] == "it is the default"
