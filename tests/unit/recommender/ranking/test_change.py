"""Changes as content: what is unknown is null, never zero or empty."""

import math

import pytest

from kg.nouns.gain import Gain
from kg.nouns.values import Settings
from recommender.ranking.change import BASELINE, Change, NotHere, Support


def test_what_is_unknown_is_null() -> None:
    bare = Change(id="1", title="t")
    content = bare.to_json()
    assert {name for name, value in content.items() if value is None} >= {
        "strategy", "how", "gain", "probability_of_gain", "distance_class", "bottleneck", "ceiling_factor",
    }  # fmt: skip
    assert bare.helps is None


def test_what_is_known_is_there() -> None:
    gain = Gain.around(math.log(1.2), 0.1)
    full = Change(
        id="1",
        title="t",
        configuration=Settings({"tile": 8}),
        flags=("--tile 8",),
        gain=gain,
        against="now",
        basis="cases",
        distance_class="sibling",
        bottleneck="host-bound",
        ceiling=math.log(2),
        parts={"prior": 1 / 3},
        strategy="overlap",
        how="set it",
        evidence=(Support(kind="measured", says="so", weight=1 / 3, problem="p"),),
    )
    content = full.to_json()
    assert (content["strategy"], content["how"], content["bottleneck"]) == ("overlap", "set it", "host-bound")
    assert content["ceiling_factor"] == 2
    assert content["parts"] == {"prior": 0.333333}
    assert content["gain"]["against"] == "now"
    assert content["probability_of_gain"] == pytest.approx(gain.probability_of_gain, abs=1e-3)
    assert content["evidence"][0]["weight"] == 0.3333
    assert (content["evidence"][0]["problem"], content["evidence"][0]["source"]) == ("p", None)


def test_a_change_of_a_plan_says_its_chance_and_what_it_is_against() -> None:
    even = Change(id="i", title="t", strategy="s", gain=Gain(expected=0.1, low=0.1 - 0.2, high=0.1 + 0.2))
    gain = even.plan_json()["gain"]
    assert gain["against"] == "the start"
    assert 0.5 < gain["chance"] < 1
    assert gain["low_factor"] < 1 < gain["high_factor"]
    assert even.to_json()["gain"]["against"] == even.baseline == BASELINE


def test_a_change_without_a_gain_claims_none() -> None:
    json = Change(id="i", title="t", provided="prompts share a prefix").plan_json()
    assert json["gain"] is None
    assert (json["strategy"], json["how"], json["if"]) == (None, None, "prompts share a prefix")


def test_what_is_not_here_says_why() -> None:
    one = NotHere(strategy="s", because="it is the default", fact="default")
    assert one.to_json() == {
        "strategy": "s",
        "because": "it is the default",
        "fact": "default",
        "source": None,
    }
