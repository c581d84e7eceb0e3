"""The source that an expected gain rests on most."""

from __future__ import annotations

from kg.nouns.entities import Source
from kg.nouns.gain import Gain
from recommender.ranking.changes.influence import most_influential


def gain(expected: float) -> Gain:
    return Gain(expected=expected, low=expected - 0.1, high=expected + 0.1)


SOURCES = {name: Source(title=name, url=f"https://{name}.example") for name in ("one", "two", "three")}


def test_it_is_the_one_whose_absence_changes_most() -> None:
    left = {"one": gain(0.19), "two": gain(0.35), "three": gain(0.15)}
    found = most_influential(gain(0.2), SOURCES, left.__getitem__)
    assert found is not None
    assert found.source == "two https://two.example"
    assert (found.gain, round(found.moved, 6)) == (gain(0.35), -0.15)
    assert "without two https://two.example it would be 1.42x" in str(found)
    assert found.to_json()["moves_expected_log"] == -0.15


def test_without_sources_there_is_none() -> None:
    assert most_influential(gain(0.2), {}, lambda _: gain(0)) is None
