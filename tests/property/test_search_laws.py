"""Laws of spaces and searches, whatever they hold."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.nouns.entities import Better, Objective, Status
from kg.nouns.values import Settings
from recommender.search.engine.search import Search
from recommender.search.evaluations import Evaluation
from recommender.space.constraint import Constraint
from recommender.space.parameters import Parameter, ParameterKind
from recommender.space.space import SearchSpace

TIME = Objective(metric="time", better=Better.LOWER)


@st.composite
def spaces(draw: st.DrawFn) -> SearchSpace:
    parameters = []
    for k in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(list(ParameterKind)))
        when = f"p{k - 1} != p{k - 1} or p0 == p0" if k and draw(st.booleans()) else ""
        if kind in {ParameterKind.ORDINAL, ParameterKind.CATEGORICAL}:
            values = tuple(draw(st.lists(st.integers(-5, 99), min_size=1, max_size=5, unique=True)))
            parameters.append(Parameter(name=f"p{k}", kind=kind, values=values, when=when))
        else:
            low = draw(st.integers(1, 50))
            high = low + draw(st.integers(0, 9000))
            log = draw(st.booleans())
            parameters.append(Parameter(name=f"p{k}", kind=kind, low=low, high=high, log=log, when=when))
    rule = draw(st.sampled_from([(), (Constraint(expression="p0 % 2 == 0 or p0 > 3"),)]))
    return SearchSpace(parameters=tuple(parameters), constraints=rule)


def drawn(space: SearchSpace, seed: int, count: int) -> list[Settings]:
    from kg.errors import InfeasibleError

    try:
        return space.sample(np.random.default_rng(seed), count)
    except InfeasibleError:
        return []


@given(space=spaces(), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_points_survive_the_unit_cube(space: SearchSpace, seed: int) -> None:
    points = drawn(space, seed, 8)
    if not points:
        return
    u = space.encode(points)
    assert ((u >= 0) & (u <= 1) | np.isnan(u)).all()
    again = space.decode(u)
    assert np.allclose(space.encode(again), u, equal_nan=True)
    for point, back in zip(points, again, strict=True):
        assert set(point) == set(back)
        for name, value in point.items():
            other = back[name]
            assert isinstance(value, int | float)
            assert isinstance(other, int | float)
            assert other == value or abs(other - value) < 1e-6 * abs(value)
        assert space.violated(point) is None


@given(space=spaces(), seed=st.integers(0, 99), batch=st.integers(1, 3))
@settings(max_examples=10, deadline=None)
def test_nothing_is_proposed_twice_or_forbidden_and_replay_goes_on(
    space: SearchSpace, seed: int, batch: int
) -> None:
    if not drawn(space, seed, 1):
        return
    first = Search(space=space, objectives=(TIME,), seed=seed)
    seen = set()
    for _ in range(4):
        for suggestion in first.ask(batch):
            assert space.violated(suggestion.configuration) is None
            assert suggestion.configuration not in seen
            seen.add(suggestion.configuration)
            value = 1 + int(suggestion.configuration.digest[:4], 16) / 65536
            done = (
                Evaluation(configuration=suggestion.configuration, values=(value,))
                if value < 1.9
                else Evaluation(configuration=suggestion.configuration, values=(None,), status=Status.FAILED)
            )
            first.tell(done, suggestion.number)
    again = Search(space=space, objectives=(TIME,), seed=seed)
    for evaluation in first.evaluations:
        again.tell(evaluation)
    assert [s.configuration for s in again.ask(2)] == [s.configuration for s in first.ask(2)]
    assert again.stop_reason == first.stop_reason
