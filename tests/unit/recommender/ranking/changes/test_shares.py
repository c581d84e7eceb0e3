"""In an effect that sources share each has one vote, whatever it claims and however often."""

import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.nouns.effects import Context, Effect, to_unats
from kg.nouns.entities import Kind
from kg.nouns.values import Settings
from kg.triples.serialisation import all_of
from recommender.ranking.changes.shares import balanced, balanced_effects
from recommender.workspace.workspace import Workspace
from tests.samples.toy_cases import case_line

HIGHEST = math.log(30)
"""The largest gain that is let in."""


def shared(gains: dict[str, list[float]]) -> tuple[Effect, dict[str, tuple[int, int]]]:
    empty = Effect(context=Context(hardware="chip"), strategy="s", metric="step_time", kind=Kind.MEASURED)
    effect = empty.add([gain for told in gains.values() for gain in told])
    return effect, {name: (len(told), sum(map(to_unats, told))) for name, told in gains.items()}


def alone(effect: Effect, told: dict[str, tuple[int, int]]) -> Effect:
    """An effect that no other shares its place with."""
    [same] = balanced([effect], {effect.about: told})
    return same


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 30),
    st.floats(0, 0.3),
    st.floats(-HIGHEST, HIGHEST),
    st.integers(1, 5000),
)
def test_no_source_moves_an_effect_out_of_the_range_of_two_or_more_others(
    seed: int, others: int, width: float, claimed: float, times: int
) -> None:
    rng = random.Random(seed)
    honest = {f"h{number}": [0.2 + rng.uniform(0, width)] for number in range(others)}
    effect = alone(*shared({**honest, "evil": [claimed] * times}))
    assert effect.mean is not None
    means = [told[0] for told in honest.values()]
    assert min(means) - 1e-6 <= effect.mean <= max(means) + 1e-6
    if others == 30:  # one among 31 moves it by no more than a place
        ordered = sorted(means)
        assert ordered[13] - 1e-6 <= effect.mean <= ordered[16] + 1e-6


def test_sources_that_agree_and_a_source_alone_stay_as_they_are() -> None:
    effect, told = shared({"one": [0.1, 0.2], "other": [0.2, 0.1, 0.15]})
    same = alone(effect, told)
    assert same.n == 5
    assert same.mean == pytest.approx(0.15)
    assert same.variance == pytest.approx(effect.variance)
    single, told = shared({"one": [0.1, 0.7]})
    assert alone(single, told) is single


def test_what_no_row_accounts_for_is_one_source_more() -> None:
    effect, told = shared({"one": [0.1], "two": [0.1], "three": [0.1], "imported": [3.0] * 100})
    told.pop("imported")
    mean = alone(effect, told).mean
    assert mean is not None
    assert mean < 0.2
    assert effect.mean is not None
    assert effect.mean > 2.9


def test_a_source_that_tells_of_many_circumstances_has_one_vote() -> None:
    """Each honest one speaks of one length, the other of all of them; its own differences stay."""
    group: list[Effect] = []
    told: dict[tuple[object, ...], dict[str, tuple[int, int]]] = {}
    for number in range(4):
        about = Context(hardware="chip", facts=Settings({"seq_len": 128 * 2**number}))
        effect = Effect(context=about, strategy="s", metric="step_time", kind=Kind.MEASURED)
        gains = {f"h{number}": 0.1, "evil": -0.9 + 0.02 * number}
        group.append(effect.add(list(gains.values())))
        told[group[-1].about] = {name: (1, to_unats(gain)) for name, gain in gains.items()}
    means = [effect.mean or 0.0 for effect in balanced(group, told)]
    assert means == pytest.approx([0.1 - 0.015, 0.1 - 0.005, 0.1 + 0.005, 0.1 + 0.015], abs=1e-5)


def test_a_source_that_repeats_itself_in_a_workspace_has_one_vote(empty_path: Path) -> None:
    gains = {f"r/{number}": (1.2, 1) for number in range(6)} | {"r/evil": (20.0, 40)}
    lines = []
    for place, (source, (factor, times)) in enumerate(gains.items()):
        for number in range(times):
            gain: dict[str, Any] = {"kind": "measured", "strategy": "tile-it", "baseline": {"value": factor}}
            lines.append(case_line(1.0, size=1000 * place + number, block=8, source=source, **gain))
    (empty_path.parent / "cases.jsonl").write_text("".join(lines))
    with Workspace.editor(empty_path, cache=empty_path.parent) as editor:
        assert editor.ingest([empty_path.parent / "cases.jsonl"]).bad == 0
    with Workspace.open(empty_path, cache=empty_path.parent) as workspace:
        [counted] = all_of(workspace.graph, Effect)
        [effect] = balanced_effects(workspace.graph, workspace.trials)
        [left] = balanced_effects(workspace.graph, None)
    assert counted.mean is not None
    assert counted.mean > 2
    assert effect.mean == pytest.approx(math.log(1.2), abs=1e-5)
    assert effect.n == 46
    assert left == counted
