"""A ranking of layer groups: its definitions, its laws, and what it refuses."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.layers.layer import Layer
from kg.errors import InputError, NoEvidenceError
from recommender.answers.sensitivity import KEPT, kind_of, rank, space
from recommender.space.space_file import read_space

NAMES = ("embed_tokens", "layers.0.self_attn.q_proj", "layers.0.mlp.up_proj", "layers.1.mlp.down_proj",
         "layers.1.self_attn.o_proj", "lm_head", "layers.0.input_layernorm", "layers.0.mlp.gate")  # fmt: skip

losses = st.floats(0, 1, allow_nan=False)
layers = st.lists(
    st.builds(
        lambda name, loss, size: Layer(name=name, values={"loss_increase": loss, "parameters": size}),
        st.sampled_from(NAMES),
        losses,
        st.floats(1, 1e9),
    ),
    min_size=1,
    unique_by=lambda layer: layer.name,
).filter(lambda found: any(kind_of(layer.name) not in KEPT for layer in found))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("model.layers.3.self_attn.q_proj", "attention"),
        ("encoder.layer.0.attention.output.dense", "attention"),
        ("encoder.layer.0.output.dense", "mlp"),
        ("model.layers.0.mlp.gate_proj", "mlp"),
        ("encoder.layer.0.output.LayerNorm", "norm"),
        ("backbone.conv1", "other"),
    ],
)
def test_layers_are_known_by_the_names_frameworks_give(name: str, kind: str) -> None:
    assert kind_of(name) == kind


@given(layers, st.sampled_from(["kind", "block", "layer"]))
def test_profiles_are_nested_and_the_ranking_ignores_order(found: list[Layer], grouping: str) -> None:
    ranking = rank(found, grouping=grouping)
    high, middle, low = (set(profile.low) for profile in ranking.profiles)
    assert high == set()
    assert middle <= low
    assert low == {group.name for group in ranking.groups if not group.kept}
    assert rank(found[::-1], grouping=grouping).profiles == ranking.profiles
    assert sorted(name for group in ranking.groups for name in group.layers) == sorted(x.name for x in found)


@given(layers, losses)
def test_a_budget_is_kept_and_not_left_unused(found: list[Layer], budget: float) -> None:
    ranking = rank(found, grouping="layer", budget=budget)
    balanced = ranking.profiles[1]
    assert balanced.spent <= budget
    assert balanced.within_budget
    rest = [group for group in ranking.groups if not group.kept and group.name not in balanced.low]
    if rest:
        assert balanced.spent + (rest[0].sensitivity or 0.0) > budget


@given(layers)
def test_no_point_of_the_ranking_is_bettered_by_another_choice_of_groups(found: list[Layer]) -> None:
    ranking = rank(found, grouping="layer")
    open_ = [group for group in ranking.groups if not group.kept]
    for k in range(len(open_) + 1):
        saved = sum(group.parameters or 0 for group in open_[:k])
        spent = sum(group.sensitivity or 0 for group in open_[:k])
        for chosen in product([False, True], repeat=len(open_)):
            other = [group for group, on in zip(open_, chosen, strict=True) if on]
            if sum(group.parameters or 0 for group in other) >= saved * (1 + 1e-9):
                assert sum(group.sensitivity or 0 for group in other) >= spent * (1 - 1e-9) - 1e-12


def test_the_most_direct_statistic_decides() -> None:
    found = [
        Layer(name="a.mlp", values={"gradient_norm": 9.0, "loss_increase": 0.1}),
        Layer(name="a.attn", values={"gradient_norm": 1.0, "loss_increase": 0.2}),
    ]
    ranking = rank(found)
    assert ranking.is_loss
    assert [group.name for group in ranking.groups] == ["mlp", "attention"]
    less = [Layer(name=x.name, values={"gradient_norm": x.values["gradient_norm"]}) for x in found]
    assert [group.name for group in rank(less).groups] == ["attention", "mlp"]
    assert "no weight error" in rank(less).notes[0]


def test_gradients_and_weight_errors_give_the_second_order_term() -> None:
    values = {"gradient_norm": 2.0, "parameters": 8.0, "weight_error": 3.0}
    [group] = rank([Layer(name="x.mlp", values=values)]).groups
    assert group.sensitivity == pytest.approx(2.0**2 / 8 * 3.0)


def test_ten_decibels_less_are_ten_times_the_noise() -> None:
    found = [Layer(name="a.mlp", values={"sqnr_db": 30.0}), Layer(name="a.attn", values={"sqnr_db": 20.0})]
    by_name = {group.name: group.sensitivity for group in rank(found).groups}
    assert by_name["attention"] == pytest.approx(10 * (by_name["mlp"] or 0))


def test_a_layer_that_was_not_measured_stays_in_high_precision() -> None:
    found = [
        Layer(name="a.mlp", values={"loss_increase": 0.1}),
        Layer(name="b.mlp", values={"loss_increase": 0.1}),
        Layer(name="c.mlp"),
    ]
    ranking = rank(found)
    assert ranking.groups[-1].name == "not collected"
    assert ranking.groups[-1].sensitivity is None
    assert "not collected" in ranking.profiles[2].high
    assert any("c.mlp" in note for note in ranking.notes)


def test_too_little_is_no_evidence_and_a_budget_needs_losses() -> None:
    with pytest.raises(NoEvidenceError, match="covers half"):
        rank([Layer(name="a.mlp", values={"sqnr_db": 1.0}), Layer(name="b.mlp"), Layer(name="c.mlp")])
    with pytest.raises(InputError, match="a budget is a loss"):
        rank([Layer(name="a.mlp", values={"sqnr_db": 1.0})], budget=0.1)
    with pytest.raises(InputError, match="no grouping"):
        rank([], grouping="colour")


def test_the_space_is_the_ranking_and_nothing_else() -> None:
    found = [
        Layer(name="a.mlp", values={"loss_increase": 0.001}),
        Layer(name="a.attn", values={"loss_increase": 0.002}),
        Layer(name="lm_head", values={"loss_increase": 0.004}),
    ]
    written = space(rank(found), low="int8", source="losses.csv", budget=0.005)
    declared = read_space({key: written[key] for key in ("parameters", "constraints")})
    low = [{name for name, value in settings.items() if value == "int8"} for settings in declared.enumerate()]
    assert sorted(map(len, low)) == [0, 1, 2, 3]
    assert written["limits"] == ["accuracy_loss<=0.005"]
    assert written["accuracy"]["precision_attention"]["int8"]["loss"] == 0.002  # type: ignore[index]
