"""Facts of a case: the stronger origin holds."""

import itertools

import pytest

from kg.nouns.situation import FactOrigin, Situation, StatedFact


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
