"""The meanings of settings as they are read."""

import pytest

from kg.errors import UnknownEntityError
from kg.nouns.setting import SettingPlace
from kg.terms.meanings import (
    Meaning,
    degree_of,
    divides,
    kind_of,
    kinds,
    long_names,
    meaning_of,
    programs,
    settings_of,
    stated_anyway,
)
from kg.terms.setting_registry import registry, softwares
from recommender.cost_model.settings.plans import PHASES


def test_every_setting_states_a_fact_that_is_listed() -> None:
    facts = {meaning.fact for program in programs() for meaning in settings_of(program)}
    assert facts <= set(kinds())


def test_every_setting_of_the_cost_model_is_a_fact_or_a_degree() -> None:
    own = {name for phase in PHASES.values() for name in phase}
    assert {name for name in own if meaning_of(name) is None} == set()


def meant(name: str, program: str = "") -> Meaning:
    found = meaning_of(name, program)
    assert found is not None, name
    return found


def test_flags_and_variables_are_those_of_the_registry() -> None:
    places, tried = {SettingPlace.FLAG, SettingPlace.ENV}, 0
    scripted = {"transformers"}  # scripts add flags of their own to those of its TrainingArguments
    added = {item.key for item in settings_of("transformers")}
    for program in ({*programs()} & {*softwares()}) - scripted:
        shipped = registry(program).at()
        stated = places | ({SettingPlace.YAML} if shipped.registry.overrides else set())
        own = [item.key for item in settings_of(program) if item.place in stated and item.key != "-O"]
        keys = [key for key in own if key not in added]
        assert [key for key in keys if not shipped.look_up(key, suggest=False).setting] == [], program
        tried += len(keys)
    assert tried > 50


@pytest.mark.parametrize("program", ["llama-factory", "axolotl"])
def test_a_flag_that_a_program_of_files_takes_over_is_a_key(program: str) -> None:
    [turns] = [item for item in settings_of(program) if item.fact == "turns"]
    assert (turns.key, turns.place) == ("gradient_accumulation_steps", SettingPlace.YAML)
    assert turns.file


def test_a_spelling_of_one_dash_counts_only_for_its_program() -> None:
    assert meant("-np", "llama.cpp").fact == "batch"
    assert meaning_of("-np") is None
    assert meant("--batch-size", "llama.cpp").fact == "chunk"
    assert meant("--batch-size").fact == "batch"


def test_a_field_counts_where_its_object_is_one_of_settings() -> None:
    graph = meant("compilation_config.cudagraph_mode")
    assert (graph.says("FULL_DECODE_ONLY"), graph.says("piecewise"), graph.says("NONE")) == (1, 0.5, 0)
    assert meaning_of("kv_transfer_config.kv_connector_extra_config.prefill.tp_size") is None
    assert (meant("batch_size").fact, meant("runner_config.batch_size").fact) == ("batch", "micro_batch")


def test_values_are_read_and_written() -> None:
    chunk, cache = meant("--chunked-prefill-size", "sglang"), meant("--quant-policy", "lmdeploy")
    assert (chunk.says("-1"), chunk.says("8192"), chunk.writes(0), chunk.writes(8192)) == (0, 8192, -1, 8192)
    assert (cache.says(8), cache.reads(4), cache.writes("int8"), cache.writes("fp8")) == (
        "int8",
        False,
        8,
        None,
    )
    assert meant("--quantize", "tgi").says("bitsandbytes-nf4") == "w4a16"
    drafted = meant("speculative_num_draft_tokens")
    assert (drafted.says(4), drafted.writes(3)) == (3, 4)
    assert [meant("max_model_len").reads(value) for value in (True, "long", "8")] == [False, False, True]
    again = meant("gradient_checkpointing", "transformers")
    assert [again.reads(value) for value in (True, "false", "maybe")] == [True, True, False]
    assert [meant("dtype").says(value) for value in ("half", "auto", "int8")] == ["fp16", None, "int8"]


def test_kinds_and_degrees() -> None:
    assert [degree_of(name) for name in ("tp-size", "moe_ep_size", "max_num_seqs", "x")] == [
        "tp",
        "ep",
        None,
        None,
    ]
    assert (kind_of("--max-model-len"), kind_of("nothing")) == ("length", "")
    names = ("--dp", "enable_expert_parallel", "moe_a2a_backend", "num_virtual_stages_per_pipeline_rank")
    assert [divides(name) for name in names] == [True, True, False, False]


def test_names_of_options_go_by_the_first_spelling() -> None:
    names = long_names("sglang")
    assert (names["tp"], names["tensor_parallel_size"], long_names("vllm")["q"]) == (
        "tp_size",
        "tp_size",
        "quantization",
    )


def test_a_program_states_what_its_own_does_too() -> None:
    assert stated_anyway("mindspeed-llm", experts=True) == ("tp", "pp", "ep")
    assert stated_anyway("mindspeed-llm", experts=False) == ("tp", "pp")


def test_a_program_without_a_dialect_is_refused() -> None:
    with pytest.raises(UnknownEntityError, match="no dialect of 'gromacs'"):
        settings_of("gromacs")


def test_one_dash_is_the_programs_own_and_its_case_counts() -> None:
    assert meaning_of("-c", "llama.cpp") is not None
    assert meaning_of("-C", "llama.cpp") is None
    assert meaning_of("-sp", "llama.cpp") is None
    tensors = meaning_of("-tp", "vllm-ascend")
    assert tensors is not None
    assert tensors.fact == "tp"
