"""Words in capitals of commands, and methods as programs are told them."""

from dataclasses import replace

import pytest

from kg.nouns.entities import Source
from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from kg.nouns.situation import FactOrigin, Situation, StatedFact
from kg.nouns.values import Settings
from recommender.ranking.paste import pasted
from recommender.ranking.plan_setting import Origin, settings_by_key
from recommender.ranking.starts.launch_words import launch_words, method_settings
from tests.unit.recommender.ranking.starts.situations import draft, recipe, situation, weighed


@pytest.mark.parametrize(
    ("program", "word", "told"),
    [
        ("ms-swift", "dpo", {"--rlhf_type": "dpo"}),
        ("llama-factory", "orpo", {"stage": "dpo", "pref_loss": "orpo"}),
        ("verl", "grpo", {"algorithm.adv_estimator": "grpo"}),
        ("verl", "ppo", {"algorithm.adv_estimator": "gae"}),
        ("torchtune", "dpo", {}),
    ],
)
def test_a_told_method_stands_in_the_start(program: str, word: str, told: dict[str, str]) -> None:
    about = situation(framework=program, phase="training")
    traits = Settings({"trained_by": word})
    work = replace(about.problem.workload, traits=traits)
    about = replace(about, problem=replace(about.problem, workload=work))
    made = method_settings(about, settings_by_key({"algorithm.adv_estimator": "rloo"}))
    kept = {} if "algorithm.adv_estimator" in told else {"algorithm.adv_estimator": "rloo"}
    assert {item.key: item.value for item in made} == {**kept, **told}


def test_a_command_names_devices_recipe_and_file_and_takes_fields_alone() -> None:
    about = situation(framework="torchtune", phase="training", lora=True)
    made = draft(about=about, behind=weighed(recipe("near")))
    told = settings_by_key({"config": "llama3_1/8B_lora", "batch_size": 2})
    kept, filled = launch_words(made, told, ParallelLayout(dp=4))
    assert [item.key for item in kept] == ["batch_size"]
    assert filled["RECIPE"] == "lora_finetune_distributed"
    words = " ".join(pasted(kept, "torchtune", "", filled)).replace("\\ ", "").split()
    assert " ".join(words) == (
        "tune run --nproc_per_node 4 lora_finetune_distributed --config llama3_1/8B_lora batch_size=2"
    )


def test_the_file_of_torchtune_is_of_the_very_method() -> None:
    def of(*files: str) -> str:
        pages = [
            replace(
                recipe(file), source=Source(title="Page", url=f"https://x.org/recipes/configs/{file}.yaml")
            )
            for file in files
        ]
        about = situation(framework="torchtune", phase="training")
        return launch_words(draft(about=about, behind=weighed(*pages)), [], ParallelLayout(dp=4))[1].get(
            "CONFIG", ""
        )

    assert of("a/8B_qat_full", "a/8B_full_dpo", "a/8B_full") == "a/8B_full"
    assert of("llama4/scout_17B_16E_full") == "llama4/scout_17B_16E_full"
    assert of("a/8B_qat_full", "a/8B_full_single_device") == ""


@pytest.mark.parametrize(("program", "key"), [("llama-factory", "model_name_or_path"), ("ms-swift", "model")])
def test_flags_of_a_trainers_script_name_the_model_that_it_trains(program: str, key: str) -> None:
    about = situation(framework=program, phase="training", current={"template": "qwen"})
    named = StatedFact(name="checkpoint", value="own/tuned", origin=FactOrigin.SCRIPT)
    told = replace(about, problem=replace(about.problem, situation=Situation.of([named])))
    flags = settings_by_key({"--template": "qwen"}, Origin.CURRENT)
    kept, _ = launch_words(draft(about=told), flags, None)
    assert {item.key: item.value for item in kept} == {"--template": "qwen", f"--{key}": "own/tuned"}
    assert launch_words(draft(about=told), kept, None)[0] == kept
    assert launch_words(draft(about=about), flags, None)[0] == flags  # nothing names it
    own = settings_by_key({"--template": "qwen"})
    assert launch_words(draft(about=told), own, None)[0] == own  # for a launch that names it itself


def test_a_trainer_whose_stage_is_not_known_is_given_flags_alone() -> None:
    flags = settings_by_key({"--packing": True}, place=SettingPlace.FLAG)
    assert pasted(flags, "ms-swift") == ["--packing"]
    assert pasted(flags, "ms-swift", "a/B", {"SIZE": "8", "STAGE": "sft"})[0].startswith(
        "NPROC_PER_NODE=8 swift sft --model a/B"
    )
