"""Recipes in the words of another program with the same blocks."""

import pytest

from kg.nouns.entities import Source
from kg.nouns.recipe import Authority, Recipe, RecipeSetting, Role
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings
from recommender.ranking.starts.recipes.kin import in_words_of, kin_of


def recipe(framework: str, *flags: tuple[str, str]) -> Recipe:
    settings = [RecipeSetting(where=SettingPlace.FLAG, key=key, value=value) for key, value in flags]
    settings.append(RecipeSetting(where=SettingPlace.ENV, key="TASK_QUEUE_ENABLE", value="2"))
    return Recipe(
        id="r",
        framework=framework,
        role=Role.TRAIN,
        model="m",
        reported_model="m",
        family="f",
        hardware="ascend-910b3",
        reported_hardware="910B3",
        devices=8,
        layout=Settings({"tp": 8}),
        authority=Authority.VENDOR_EXAMPLE,
        settings=tuple(settings),
        source=Source(title="t", url="https://example.org/r"),
    )


@pytest.mark.parametrize("program", ["megatron-bridge", "mindspeed-rl"])
def test_flags_become_the_fields_that_are_named_after_them(program: str) -> None:
    section = {"megatron-bridge": "model", "mindspeed-rl": "megatron_training"}[program]
    flags = [("--sequence-parallel", "true"), ("--moe-token-dispatcher-type", "alltoall"), ("--no-such", "1")]
    [kin] = kin_of(program)
    told, *rest = in_words_of(program, [recipe(kin, *flags), recipe(program)])
    assert rest == [recipe(program)]
    assert (told.framework, told.authority, dict(told.layout)) == (program, Authority.THIRD_PARTY, {})
    values = {item.key: item.value for item in told.settings}
    assert values == {
        "TASK_QUEUE_ENABLE": "2",
        f"{section}.sequence_parallel": "true",
        f"{section}.moe_token_dispatcher_type": "alltoall",
    }


def test_a_program_of_its_own_blocks_has_no_kin() -> None:
    assert kin_of("vllm") == kin_of("megatron-lm") == ()
