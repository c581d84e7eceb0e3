"""Recipes of NeMo 2 in Python are read as the commands that say the same."""

import pytest

from ingest.questions.launches.launch import read_launch
from ingest.questions.nemo_recipes import nemo_recipes

PRETRAINS = """
from nemo.collections import llm
from nemo.collections.llm.recipes.precision.mixed_precision import bf16_with_fp8_mixed
NODES = 2

def configure():
    recipe = llm.llama3_8b.pretrain_recipe(name="pt", dir="/ckpt", num_nodes=NODES, num_gpus_per_node=8)
    recipe.trainer.strategy.tensor_model_parallel_size = 2
    recipe.trainer.strategy.sequence_parallel = True
    recipe.data.global_batch_size = compute()
    recipe.model.config.recompute_granularity = "full"
    recipe.trainer.plugins = bf16_with_fp8_mixed()
    return recipe
"""
TUNES = """
import nemo_run as run
from nemo.collections import llm
recipe = run.Partial(llm.llama31_70b.finetune_recipe, num_nodes=1, num_gpus_per_node=8)
recipe.data.global_batch_size = 32
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            PRETRAINS,
            (
                "nemo llm pretrain --factory llama3_8b trainer.num_nodes=2 trainer.devices=8"
                " trainer.strategy.tensor_model_parallel_size=2 trainer.strategy.sequence_parallel=true"
                " model.recompute_granularity=full trainer.precision=fp8"
            ),
        ),
        (
            TUNES,
            (
                "nemo llm finetune --factory llama31_70b peft=lora trainer.num_nodes=1 trainer.devices=8"
                " data.global_batch_size=32"
            ),
        ),
        ("from nemo.collections import llm\nrecipe = other.pretrain_recipe\n", ""),
        ("def broken(:  # llm.llama3_8b.pretrain_recipe of nemo", ""),
    ],
)
def test_a_recipe_is_the_command_of_its_factory_and_fields(text: str, words: str) -> None:
    assert [" ".join(words) for words, _ in nemo_recipes(text)] == ([words] if words else [])


def test_the_question_has_its_model_devices_and_method() -> None:
    asked = read_launch(TUNES, "tune.py").question
    assert (asked["model"], asked["count"], asked["current"]["peft"]) == ("llama31_70b", 8, "lora")  # type: ignore[index]
