"""Changes and what is not for a question, as content."""

from __future__ import annotations

from kg.nouns.gain import Gain
from recommender.ranking.plan_change import NotHere, PlanChange


def test_a_change_with_a_gain_says_its_chance_and_what_it_is_against() -> None:
    even = PlanChange(id="i", title="t", strategy="s", gain=Gain(expected=0.1, low=0.1 - 0.2, high=0.1 + 0.2))
    gain = even.to_json()["gain"]
    assert gain["against"] == "the start"
    assert 0.5 < gain["chance"] < 1
    assert gain["low_factor"] < 1 < gain["high_factor"]


def test_a_change_without_a_gain_claims_none() -> None:
    json = PlanChange(id="i", title="t", provided="prompts share a prefix").to_json()
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
