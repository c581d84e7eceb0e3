"""Facts of a case: the stronger origin holds."""

import itertools

import pytest

from kg.nouns.situation import FactOrigin, Situation, StatedFact, assumption_line


@pytest.mark.parametrize(("strong", "weak"), list(itertools.combinations(FactOrigin, 2)))
@pytest.mark.parametrize("is_strong_first", [True, False])
def test_the_stronger_origin_holds_in_any_order(
    strong: FactOrigin, weak: FactOrigin, is_strong_first: bool
) -> None:
    both = [StatedFact(name="count", value=8, origin=strong), StatedFact(name="count", value=4, origin=weak)]
    found = Situation.of(both if is_strong_first else both[::-1])
    assert found.to_json() == {"count": {"value": 8, "origin": str(strong)}}


def test_a_script_is_known_by_the_settings_that_it_states() -> None:
    def has_script(name: str, origin: FactOrigin) -> bool:
        return Situation.of([StatedFact(name=name, value=1, origin=origin)]).has_script

    assert has_script("current.max_num_seqs", FactOrigin.SCRIPT)
    assert not has_script("current.max_num_seqs", FactOrigin.TOLD)
    assert not has_script("count", FactOrigin.SCRIPT)


@pytest.mark.parametrize(
    ("otherwise", "said"),
    [(["--count 8"], "--count 8 says"), (["--set a", "--set b"], "--set a,b says"),
     (["--count 8", "--set a"], "--count 8, --set a say")],
)  # fmt: skip
def test_options_that_say_otherwise_are_told_once(otherwise: list[str], said: str) -> None:
    facts = [
        StatedFact(name=f"f{at}", value=1, origin=FactOrigin.ASSUMED, words="one", otherwise=text)
        for at, text in enumerate(otherwise)
    ]
    assert assumption_line(facts).endswith(f"one ({said} otherwise)")
    assert assumption_line(facts, with_options=False).endswith("one")
    assert assumption_line([]) == ""
