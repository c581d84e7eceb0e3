"""Search spaces: enumeration, conditions, what is refused."""

import time

import numpy as np
import pytest

from kg.errors import InfeasibleError, InputError
from kg.nouns.values import Settings, Value
from recommender.space.constraint import Constraint
from recommender.space.parameters import Parameter, ParameterKind
from recommender.space.space import SearchSpace
from tests.quiet_machine import cpu_seconds


def ordinal(name: str, *values: Value, when: str = "") -> Parameter:
    return Parameter(name=name, kind=ParameterKind.ORDINAL, values=values, when=when)


def constrained(*expressions: str, parameters: tuple[Parameter, ...]) -> SearchSpace:
    return SearchSpace(
        parameters=parameters, constraints=tuple(Constraint(expression=e) for e in expressions)
    )


GEMM = constrained(
    "MWG % (MDIMC * VWM) == 0",
    "NWG % (NDIMC * VWN) == 0",
    "MWG % (MDIMA * VWM) == 0",
    "NWG % (NDIMB * VWN) == 0",
    "32 % ((MDIMC * NDIMC)/MDIMA) == 0",
    "32 % ((MDIMC * NDIMC)/NDIMB) == 0",
    parameters=(
        *(ordinal(name, 16, 32, 64, 128) for name in ("MWG", "NWG")),
        *(ordinal(name, 8, 16, 32) for name in ("MDIMC", "NDIMC", "MDIMA", "NDIMB")),
        *(ordinal(name, 1, 2, 4, 8) for name in ("VWM", "VWN")),
        *(ordinal(name, 0, 1) for name in ("SA", "SB")),
    ),
)
"""The matrix product of CLBlast as Kernel Tuner's hub declares it: 82,944 combinations, 17,956 allowed."""


def test_a_large_space_is_enumerated_at_once() -> None:
    start = time.process_time()
    assert GEMM.size(at_most=10**6) == 17_956
    assert time.process_time() - start < cpu_seconds(0.5)
    assert GEMM.size(at_most=1000) is None


def test_enumeration_is_lazy() -> None:
    endless = SearchSpace(parameters=tuple(ordinal(f"p{k}", *range(64)) for k in range(20)))
    assert len(next(endless.enumerate())) == 20


def test_enumeration_agrees_with_asking_each() -> None:
    space = constrained(
        "a % b == 0",
        "a + c < 9",
        parameters=(ordinal("a", 1, 2, 4, 8), ordinal("b", 1, 2, 3), ordinal("c", 0, 5)),
    )
    allowed = set(space.enumerate())
    for a in (1, 2, 4, 8):
        for b in (1, 2, 3):
            for c in (0, 5):
                settings = Settings({"a": a, "b": b, "c": c})
                assert (
                    (space.violated(settings) is None) == (settings in allowed) == (a % b == 0 and a + c < 9)
                )


def test_conditional_parameters_exist_only_where_their_condition_holds() -> None:
    space = constrained(
        "rate < 3",
        parameters=(
            ordinal("rate", 1, 2, 3, when="mode == 'on'"),
            Parameter(name="mode", kind=ParameterKind.CATEGORICAL, values=("on", "off")),
        ),
    )
    assert {str(s) for s in space.enumerate()} == {"mode=on, rate=1", "mode=on, rate=2", "mode=off"}
    with pytest.raises(InputError, match="rate"):
        space.violated(Settings({"mode": "off", "rate": 1}))
    with pytest.raises(InputError, match="missing"):
        space.violated(Settings({"mode": "on"}))


def test_an_empty_space_names_what_rules_everything_out() -> None:
    space = constrained("a > 5", "a < 9", parameters=(ordinal("a", 1, 2),))
    with pytest.raises(InfeasibleError) as caught:
        next(space.enumerate())
    assert "a > 5" in caught.value.hint
    with pytest.raises(InfeasibleError):
        space.sample(np.random.default_rng(0), 3)


def test_a_predicate_is_a_constraint() -> None:
    space = SearchSpace(
        parameters=(ordinal("a", 1, 2, 3),),
        constraints=(Constraint(predicate=lambda s: s["a"] != 2, reason="not two"),),
    )
    assert [s["a"] for s in space.enumerate()] == [1, 3]
    broken = space.violated(Settings({"a": 2}))
    assert broken is not None
    assert broken.reason == "not two"


def test_a_listed_space_has_only_what_is_listed() -> None:
    listed = (Settings({"a": 1, "b": 1}), Settings({"a": 2, "b": 2}), Settings({"a": 1, "b": 1}))
    space = SearchSpace(parameters=(ordinal("a", 1, 2), ordinal("b", 1, 2)), listed=listed)
    assert list(space.enumerate()) == list(listed[:2])
    assert space.violated(Settings({"a": 1, "b": 2})) is not None


def test_a_continuous_space_is_sampled_within_its_constraints() -> None:
    space = constrained(
        "x + y < 1",
        parameters=tuple(Parameter(name=n, kind=ParameterKind.FLOAT, low=0.0, high=1.0) for n in "xy"),
    )
    found = space.sample(np.random.default_rng(1), 50)
    assert len(set(found)) == 50
    assert all(space.violated(s) is None for s in found)
    assert space.size(at_most=10) is None
    with pytest.raises(InputError, match="continuous"):
        next(space.enumerate())


def test_a_sample_has_no_configuration_twice() -> None:
    parameters = (ordinal("mode", 0, 1), ordinal("rate", *range(4), when="mode == 1"))
    space = SearchSpace(parameters=parameters)
    sampled = space.sample(np.random.default_rng(0), 50)
    assert len(sampled) == len(set(sampled)) == 5


def test_the_digest_goes_by_content() -> None:
    a, b = ordinal("a", 1, 2), ordinal("b", 1, 2)
    one = constrained("a < b", parameters=(a, b))
    assert one.digest == constrained("a < b", parameters=(a, b)).digest
    assert one.digest != constrained("a <= b", parameters=(a, b)).digest
    assert one.digest != SearchSpace(parameters=(a, ordinal("b", 1, 2, 3))).digest


@pytest.mark.parametrize(
    "parameters",
    [
        (),
        (ordinal("a", 1), ordinal("a", 2)),
        (ordinal("a", 1, when="b == 1"), ordinal("b", 1, when="a == 1")),
    ],
)
def test_what_is_no_space_is_refused(parameters: tuple[Parameter, ...]) -> None:
    with pytest.raises(InputError):
        SearchSpace(parameters=parameters)


def test_features_name_categories_and_absence() -> None:
    space = SearchSpace(
        parameters=(
            Parameter(name="c", kind=ParameterKind.CATEGORICAL, values=("x", "y", "z")),
            ordinal("n", 1, 2, when="c == 'x'"),
        )
    )
    u = space.encode([Settings({"c": "x", "n": 2}), Settings({"c": "z"})])
    features = space.features(u)
    assert features.shape == (2, 5)
    assert space.groups.tolist() == [0, 0, 0, 1, 1]
    assert features[:, 4].tolist() == [1, 0]
