"""Settings that recipes never set together."""

from recommender.ranking.starts.recipes.company import FEWEST_TO_TELL, Company
from tests.unit.recommender.ranking.starts.situations import recipe, weighed


def company(*sets: tuple[str, ...]) -> Company:
    made = [recipe(f"r{place}", dict.fromkeys(keys, "1")) for place, keys in enumerate(sets)]
    return Company.of(weighed(*made))


def test_what_is_common_and_never_beside_a_setting_is_avoided() -> None:
    apart = company(("--a", "--c"), ("--a",), ("--b",), ("--b", "--c"))
    assert apart.avoids("a", ["b"])
    assert not apart.avoids("a", ["c"])
    assert not apart.avoids("a", ["a_setting_of_nobody"])


def test_a_rare_setting_says_nothing_by_its_absence() -> None:
    assert not company(("--a",), ("--a",), ("--a",), ("--a",), ("--rare",)).avoids("a", ["rare"])


def test_a_setting_is_avoided_only_beside_what_enough_recipes_have() -> None:
    few = [("--b",)] * (FEWEST_TO_TELL - 1)
    assert not company(("--a",), *few).is_avoided("a", ["b"])
    assert company(("--a",), *few, ("--b",)).is_avoided("a", ["b"])
    assert not company(("--a", "--b"), *few, ("--b",)).is_avoided("a", ["b"])


def test_without_recipes_nothing_is_avoided() -> None:
    assert not Company.of([]).avoids("a", ["b"])
    assert not Company.of([]).is_avoided("a", ["b"])
