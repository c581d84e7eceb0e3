"""Names of releases sort as the releases came out."""

from itertools import pairwise

import pytest

from kg.nouns.release import release_key, release_order

IN_ORDER = (
    "0.9.1",
    "v0.11.0rc1",
    "0.11.0rc3",
    "0.11.0",
    "v0.11.0.post1",
    "0.11.1",
    "0.18.0rc1",
    "0.18",
    "26.1.0-beta.1-pytorch2.9.0",
    "26.1.0-beta.2-pytorch2.12.0",
    "v26.1.0-pytorch2.7.1",
    "main",
)


@pytest.mark.parametrize(("earlier", "later"), list(pairwise(IN_ORDER)))
def test_earlier_releases_come_first(earlier: str, later: str) -> None:
    assert release_key(earlier) < release_key(later)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0.18", "v0.18.0"),
        ("core_v0.15.0", "0.15.0"),
        ("v2.3.0_core_r0.12.1", "2.3.0"),
        ("8.0.RC2", "8.0rc2"),
        ("main@182b75ea84ff", "master"),
        ("0.5.6.post2", "0.5.6post2"),
    ],
)
def test_one_release_has_many_names(one: str, other: str) -> None:
    assert release_key(one) == release_key(other)


@pytest.mark.parametrize(("earlier", "later"), list(pairwise(IN_ORDER)))
def test_the_text_of_a_release_sorts_as_the_release_does(earlier: str, later: str) -> None:
    assert release_order(earlier) < release_order(later)
    assert (
        release_order("81.2") < release_order("100.0") < release_order("2026.1") < release_order("20260101")
    )
    assert release_order("soon") == ""


def test_a_development_state_is_before_its_release() -> None:
    assert release_key("0.5.12.post1") < release_key("0.5.13.dev@bf186cf8fc05") < release_key("0.5.13")


def test_what_names_no_release_is_refused() -> None:
    with pytest.raises(ValueError, match="names no release"):
        release_key("soon")
