"""Start configurations as content and words."""

from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.start import ExpectedValue, StartConfiguration


def test_a_start_is_json() -> None:
    setting = PlanSetting(
        where=SettingPlace.FLAG, key="--a", value=1, origin=Origin.RECIPE, agreement=2 / 3, source="https://e"
    )
    expected = ExpectedValue(metric="tpot", unit="s", value=0.012345678, low=0.01, high=0.02, tier="modelled")
    start = StartConfiguration(
        framework="vllm", version="1", layout=ParallelLayout(tp=2), settings=(setting,), expected=(expected,)
    )
    json = start.to_json()
    assert json["settings"] == [
        {
            "where": "flag",
            "key": "--a",
            "value": 1,
            "from": "recipe",
            "source": "https://e",
            "agreement": 0.667,
        }
    ]
    assert json["expected"][0]["value"] == 0.01235
    assert (json["fits"], json["layout"]["devices"]) == (None, 2)
    assert StartConfiguration().to_json()["framework"] is None
