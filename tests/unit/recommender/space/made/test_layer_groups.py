"""Layer groups go down in the order of their ranking, and not beyond what they may cost."""

import pytest

from recommender.space.made.generated import ExcludedValue
from recommender.space.made.layer_groups import LayerGroups
from recommender.space.space_file import read_space


def groups(budget: float | None) -> LayerGroups:
    names = ("precision_mlp", "precision_attention", "precision_embedding")
    losses = (0.002, 0.004, 0.001)
    return LayerGroups(
        written={
            "parameters": {name: ["same", "int8"] for name in names},
            "constraints": [
                {
                    "expression": "precision_attention == 'same' or precision_mlp == 'int8'",
                    "reason": "ranked",
                    "source": "f",
                },
                {
                    "expression": "precision_embedding == 'same' or precision_attention == 'int8'",
                    "reason": "ranked",
                    "source": "f",
                },
            ],
            "accuracy": {
                name: {"int8": {"loss": loss, "source": "f"}}
                for name, loss in zip(names, losses, strict=True)
            },
            "limits": [f"accuracy_loss<={budget}"],
        },
        budget=budget,
        source="f",
    )


@pytest.mark.parametrize(("budget", "left"), [(None, 3), (0.006, 3), (0.005, 2), (0.001, 1)])
def test_a_budget_is_kept(budget: float | None, left: int) -> None:
    parameters: dict[str, list[object]] = {"precision": ["bf16", "int8"]}
    constraints: list[dict[str, str]] = []
    out: list[ExcludedValue] = []
    groups(budget).add(parameters, constraints, out)
    assert parameters["precision"] == ["bf16"]
    assert [item.what for item in out] == ["precision=int8"]
    assert read_space({"parameters": parameters, "constraints": constraints}).size(100) == left


def test_what_the_cost_model_does_not_know_stays_and_is_told() -> None:
    made = groups(0.01)
    assert made.priced == ("precision_mlp", "precision_attention")
    assert made.unpriced == ("precision_embedding",)
    assert set(made.sections) == {"accuracy", "limits"}
    assert "precision_embedding" not in str(made.sections["accuracy"])
