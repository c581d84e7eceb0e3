"""Situations of questions."""

from typing import Any

import pytest

from kg.nouns.knowledge import Confidence, Fact, FactKind, Model
from kg.nouns.recipe import Role
from kg.nouns.values import Value
from recommender.ranking.model_traits import ModelTraits
from tests.unit.recommender.ranking.starts.situations import SOURCE, situation


def traits(architecture: str = "decoder", **facts: Value) -> ModelTraits:
    return ModelTraits.of(
        Model(
            id="m",
            labels={},
            family="f",
            architecture=architecture,
            facts=tuple(
                Fact(name=name, value=value, source=SOURCE, kind=FactKind.CONFIG, confidence=Confidence.HIGH)
                for name, value in facts.items()
            ),
        )
    )


def test_facts_of_a_model_decide_its_traits() -> None:
    read = traits(parameters=8e9, attention_kind="full")
    assert (read.parameters, read.is_mixture, read.attention, read.has_draft) == (8e9, False, "full", False)
    mixture = traits("moe-decoder", experts=64, kv_lora_rank=512, mtp_layers=1)
    assert (mixture.is_mixture, mixture.attention, mixture.has_draft) == (True, "latent", True)


def test_what_nobody_read_is_unknown() -> None:
    assert traits().has_draft is None
    pictures = traits("multimodal")
    assert (pictures.is_multimodal, pictures.is_mixture) == (True, None)
    assert ModelTraits.of(None, "stranger") == ModelTraits(id="stranger")


@pytest.mark.parametrize(
    ("phase", "role", "name", "roles"),
    [
        ("serving", None, "serving", {Role.SERVE}),
        ("serving", "mixed", "serving", {Role.SERVE}),
        ("serving", "decode", "decode", {Role.DECODE}),
        ("training", None, "training", {Role.TRAIN, Role.FINETUNE}),
    ],
)
def test_phase_and_role_say_which_recipes_can_be_compared(
    phase: str, role: str | None, name: str, roles: set[Role]
) -> None:
    facts: dict[str, Any] = {"role": role} if role else {}
    made = situation(phase=phase, **facts)
    assert made.phase == name
    assert made.roles == roles
    assert made.is_training == (phase == "training")


def test_a_fact_is_a_number_or_none() -> None:
    made = situation(input_len=1024, speculative=True, topology="mesh")
    assert made.number("input_len") == 1024
    assert [made.number(name) for name in ("speculative", "topology", "output_len")] == [None] * 3


def test_experts_are_spread_and_the_rest_is_split() -> None:
    mixture = ModelTraits(id="m", parameters=100.0, routed=60.0)
    for degrees, held in (((1, 1, 1), 100.0), ((2, 1, 4), 35.0), ((8, 1, 2), 12.5), ((2, 2, 4), 17.5)):
        assert mixture.device_parameters(*degrees) == held
    assert ModelTraits(id="m").device_parameters(1, 1, 1) is None
