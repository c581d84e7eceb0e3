"""Spaces that trials have shown."""

from typing import Any

import pytest

from kg.errors import InputError
from kg.nouns.values import Settings
from recommender.space.constraint import Constraint

optuna = pytest.importorskip("optuna")

from optuna.distributions import CategoricalDistribution as Choices  # noqa: E402
from optuna.distributions import FloatDistribution as Floats  # noqa: E402
from optuna.distributions import IntDistribution as Ints  # noqa: E402

from recommender.search.bridges.observed_space import ObservedSpace, joined  # noqa: E402

SPACE: dict[str, Any] = {
    "kind": Choices(["tree", "net", None]),
    "lay-ers": Ints(1, 3),
    "depth": Ints(1, 9),
    "rate": Floats(0, 1),
}


def trial(**params: Any) -> Any:
    params = {name.replace("lay_ers", "lay-ers"): value for name, value in params.items()}
    return optuna.trial.create_trial(
        params=params, distributions={name: SPACE[name] for name in params}, value=1.0
    )


def test_a_choice_tells_when_a_parameter_exists() -> None:
    trials = [trial(kind="tree", depth=3), trial(kind="net", rate=0.5), trial(kind=None)]
    space = ObservedSpace(SPACE, trials)
    assert space.conditions == {"depth": "p['kind'] == 'tree'", "rate": "p['kind'] == 'net'"}
    assert space.space.names == ("kind", "depth", "rate")  # nobody has shown the layers yet
    u = space.space.encode([space.settings(item.params) for item in trials])
    assert space.space.allowed(u).all()


def test_a_number_tells_on_which_side_of_it_a_parameter_exists() -> None:
    trials = [trial(lay_ers=1), trial(lay_ers=2, rate=0.5), trial(lay_ers=3, rate=0.1)]
    assert ObservedSpace(SPACE, trials).conditions == {"rate": "p['lay-ers'] > 1.5"}
    trials = [trial(lay_ers=1, depth=2), trial(lay_ers=3), trial(lay_ers=2, depth=2)]
    assert ObservedSpace(SPACE, trials).conditions == {"depth": "p['lay-ers'] < 2.5"}


def test_a_condition_may_rest_on_a_conditional_parameter() -> None:
    trials = [
        trial(kind="net", lay_ers=2, rate=0.5),
        trial(kind="net", lay_ers=1),
        trial(kind="tree", depth=3),
    ]
    conditions = ObservedSpace(SPACE, trials).conditions
    assert conditions["lay-ers"] == "p['kind'] == 'net'"
    assert conditions["rate"] == "p['lay-ers'] > 1.5"


def test_what_nothing_explains_is_left_out_with_the_rules_that_need_it() -> None:
    trials = [trial(kind="net", rate=0.5), trial(kind="net"), trial(kind="tree", rate=0.2)]
    rules = [Constraint(expression="rate < 0.5"), Constraint(expression="kind != 'tree'")]
    space = ObservedSpace(SPACE, trials, rules)
    assert space.space.names == ("kind",)
    assert space.space.constraints == (rules[1],)
    with pytest.raises(InputError):
        ObservedSpace({"rate": SPACE["rate"]}, trials)


def test_configurations_come_back_as_optuna_has_them() -> None:
    odd: Any = object()
    space = ObservedSpace(
        {"c": Choices([odd, "b"]), "d": Choices([None, 2, 2.5]), "x": Floats(0, 4), "n": Ints(0, 4)}, ()
    )
    params = {"c": odd, "d": None, "x": 3.0, "n": 3}
    settings = space.settings(params)
    back = space.params(settings)
    assert back == params
    assert (type(back["x"]), type(back["n"])) == (float, int)
    assert space.external(space.internal(settings)) == params
    with pytest.raises(InputError, match="none of its choices"):
        space.settings({"c": "z", "d": 2, "x": 1.0, "n": 1})
    assert space.settings({"x": 1.0}) == Settings({"x": 1})


@pytest.mark.parametrize(
    ("older", "newer", "both"),
    [
        (None, Ints(1, 4), Ints(1, 4)),
        (Ints(1, 4), Ints(3, 9), Ints(1, 9)),
        (Ints(0, 8, step=4), Ints(4, 12, step=4), Ints(0, 12, step=4)),
        (Ints(0, 8, step=4), Ints(1, 9, step=4), Ints(0, 9)),
        (Ints(1, 8, log=True), Ints(4, 64, log=True), Ints(1, 64, log=True)),
        (Floats(0, 1), Floats(-1, 0.5), Floats(-1, 1)),
        (Floats(0, 1, step=0.5), Floats(0, 2, step=0.5), Floats(0, 2, step=0.5)),
        (Floats(0, 1, step=0.5), Floats(0.25, 2.25, step=0.5), Floats(0, 2.25)),
        (Ints(0, 1), Floats(0, 1), Floats(0, 1)),
        (Choices(["a"]), Choices(["a", "b"]), Choices(["a", "b"])),
    ],
)
def test_joined_distributions_hold_the_values_of_both(older: Any, newer: Any, both: Any) -> None:
    assert joined(older, newer) == both
