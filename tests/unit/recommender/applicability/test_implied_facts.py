"""Facts that follow from a question's phase, devices, settings and bottlenecks."""

import pytest

from kg.nouns.values import Value
from kg.terms.conditions import FactValue
from recommender.applicability.implied_facts import implied_facts


def test_one_device_has_no_degree_above_one() -> None:
    implied = implied_facts({"devices": 1}, {})
    assert {implied[name] for name in ("tp", "pp", "dp", "ep", "cp", "nodes")} == {1}
    assert "tp" not in implied_facts({"devices": 8}, {})


@pytest.mark.parametrize(
    ("facts", "role", "disaggregated"),
    [
        ({"phase": "serving"}, "mixed", False),
        ({"phase": "serving", "disaggregated": True}, None, None),
        ({"phase": "decode", "role": "decode"}, None, True),
        ({"phase": "decode"}, None, None),
    ],
)
def test_serving_is_both_halves_unless_it_is_said_otherwise(
    facts: dict[str, FactValue], role: str | None, disaggregated: bool | None
) -> None:
    implied = implied_facts(facts, {})
    assert (implied.get("role"), implied.get("disaggregated")) == (role, disaggregated)


@pytest.mark.parametrize(
    ("settings", "speculative", "draft"),
    [
        ({}, False, "any"),
        ({"--speculative-config": '{"method": "deepseek_mtp", "num_speculative_tokens": 1}'}, True, "mtp"),
        ({"speculative_algorithm": "NEXTN"}, True, "mtp"),
        ({"speculative_config": "none"}, False, "any"),
    ],
)
def test_drafts_are_what_the_settings_say(settings: dict[str, Value], speculative: bool, draft: str) -> None:
    implied = implied_facts({"phase": "serving"}, settings)
    assert (implied["speculative"], implied["draft"]) == (speculative, draft)


def test_settings_state_precision_graph_and_determinism() -> None:
    assert implied_facts({"phase": "serving"}, {"--quantization": "ascend"})["quantised"] is True
    assert implied_facts({"phase": "serving"}, {"dtype": "half"})["precision"] == "float16"
    assert implied_facts({"phase": "training"}, {"--bf16": True})["precision"] == "bfloat16"
    assert implied_facts({"phase": "serving", "precision": "bfloat16"}, {})["quantised"] is False
    assert "quantised" not in implied_facts({"phase": "serving"}, {})
    graph = {"--compilation-config": '{"cudagraph_mode": "FULL_DECODE_ONLY"}'}
    assert implied_facts({"phase": "serving"}, graph)["full_graph"] is True
    assert implied_facts({"phase": "serving"}, {"--enforce-eager": True})["full_graph"] is False
    assert implied_facts({"phase": "training"}, {})["full_graph"] is False
    assert implied_facts({}, {"HCCL_DETERMINISTIC": "true"})["deterministic"] is True
    assert implied_facts({"phase": "training"}, {"--optimizer": "LAMB"})["optimizer"] == "lamb"


@pytest.mark.parametrize(
    ("settings", "rlhf"),
    [({"--rlhf_type": "grpo"}, True), ({"stage": "dpo"}, True), ({"stage": "sft"}, False), ({}, False)],
)
def test_training_is_from_rewards_where_a_setting_says_so(settings: dict[str, Value], rlhf: bool) -> None:
    assert implied_facts({"phase": "training"}, settings)["rlhf"] is rlhf


def test_a_bottleneck_says_that_memory_is_short_or_lengths_vary() -> None:
    implied = implied_facts({"bottleneck[activation-memory]": 0.3, "bottleneck[data-padding]": 0.1}, {})
    assert (implied["memory_short"], implied["variable_lengths"]) == (True, True)
    assert "memory_short" not in implied_facts({"bottleneck[host-bound]": 0.3}, {})


def test_the_programs_of_a_question_are_its_framework() -> None:
    assert implied_facts({"software[vllm-ascend]": "0.23.0"}, {})["framework"] == frozenset({"vllm-ascend"})
