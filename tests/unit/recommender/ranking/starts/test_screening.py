"""Settings of recipes that a question can take."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.nouns.entities import Source
from kg.nouns.knowledge import Assignment, Strategy
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings
from kg.terms.setting_registry import registry
from recommender.ranking.starts.recipes.agreement import AgreedSetting
from recommender.ranking.starts.screening import Screen
from tests.unit.recommender.ranking.starts.situations import agreed, recipe, screen, situation, weighed

RELEASE = registry("vllm").at("0.18.0")
SETTINGS = [
    agreed("--max-num-seqs", "64"),
    agreed("--swap-space", "8"),
    agreed("--gpu-memory-utilization", "0.9"),
    agreed("--block-size", "64"),
    agreed("VLLM_USE_V1", "1"),
    agreed("--kv-cache-dtype", "fp8"),
]


def only(item: AgreedSetting, **facts: object) -> tuple[str, str]:
    """The key that is kept of one setting, and the fact that refuses it."""
    about = situation(**facts)  # type: ignore[arg-type]
    kept, refused = screen(about).sift([item])
    return (kept[0].key if kept else "", refused[0].fact if refused else "")


@pytest.mark.parametrize(
    ("item", "key", "fact"),
    [
        (agreed("--max_num_seqs", "64"), "--max-num-seqs", ""),
        (agreed("--swap-space", "8"), "", "release"),
        (agreed("VLLM_USE_V1", "1"), "", "release"),
        (agreed("--no-such-flag", "8"), "", "release"),
        (agreed("--gpu-memory-utilization", "0.95"), "--gpu-memory-utilization", ""),
        (agreed("--enable-chunked-prefill"), "", "default"),
        (agreed("--no-enable-prefix-caching"), "", "shared_prefix_share"),
        (agreed("--kv-cache-dtype", "fp77"), "", "release"),
    ],
)
def test_the_release_decides_what_can_be_written(item: AgreedSetting, key: str, fact: str) -> None:
    assert only(item) == (key, fact)


@given(st.permutations(SETTINGS))
def test_nothing_that_a_release_lacks_or_does_anyway_is_kept(order: list[AgreedSetting]) -> None:
    kept, refused = screen().sift(order)
    assert {item.key for item in kept} == {"--max-num-seqs", "--block-size", "--kv-cache-dtype"}
    assert len(kept) + len(refused) == len(order)
    for item in kept:
        found = RELEASE.look_up(item.key, SettingPlace(item.where.value))
        assert found.usable
        assert not found.is_default(item.value)


def test_of_a_key_the_first_value_that_may_be_set_is_taken_for_what_it_weighs() -> None:
    usual = replace(agreed("--gpu-memory-utilization", "0.9"), share=0.9, value_share=0.6)
    other = replace(agreed("--gpu-memory-utilization", "0.95"), share=0.9, value_share=0.2)
    third = replace(other, value="0.97", value_share=0.1)
    kept, refused = screen().sift([usual, other, third])
    assert [(item.value, item.share) for item in kept] == [("0.95", 0.2)]
    assert refused == []
    kept, _ = screen().sift([other, third])
    assert [(item.value, item.share) for item in kept] == [("0.95", 0.9)]


def test_without_a_registry_of_the_framework_everything_passes() -> None:
    kept, refused = screen(situation(framework="of-nobody")).sift(SETTINGS)
    assert (len(kept), refused) == (len(SETTINGS), [])


@pytest.mark.parametrize(
    ("item", "facts", "fact"),
    [
        (agreed("--quantization", "fp8"), {"precision": "bfloat16"}, "precision"),
        (agreed("--quantization", "fp8"), {"precision": "fp8"}, ""),
        (agreed("--kv-cache-dtype", "fp8"), {"precision": "fp16"}, "precision"),
        (agreed("speculative_config.method", "mtp"), {"speculative": True}, ""),
        (agreed("speculative_config.method", "deepseek_mtp"), {"draft_layers": 0}, "draft_layers"),
        (agreed("speculative_config.method", "deepseek_mtp"), {"draft_layers": 1}, ""),
        (agreed("speculative_config.method", "eagle3"), {"draft_layers": 0}, ""),
        (agreed("speculative_config.model", "/d", first=recipe(model="large")), {}, "model"),
        (agreed("speculative_config.model", "/d"), {}, ""),
        (agreed("--no-enable-prefix-caching"), {"shared_prefix_share": 0.4}, "shared_prefix_share"),
    ],
)
def test_the_question_itself_rules_out(item: AgreedSetting, facts: dict[str, object], fact: str) -> None:
    assert only(item, **facts)[1] == fact


def test_drafts_are_left_out_only_where_the_question_says_so() -> None:
    item, about = agreed("speculative_config.method", "mtp"), situation(speculative=False)
    assert screen(about).sift([item])[0] == [item]  # nothing drafts now, which is no wish
    work = replace(about.problem.workload, traits=Settings({"speculative": "none"}))
    asked = replace(about, problem=replace(about.problem, workload=work))
    kept, refused = screen(asked).sift([item])
    assert (kept, refused[0].fact) == ([], "speculative")


def strategy(hardware: str, value: int = 64) -> Strategy:
    return Strategy(
        id=f"blocks-for-{hardware}",
        labels={},
        kind="documented",
        hardware=(hardware,),
        sets=(Assignment(parameter="block_size", value=value, flag="--block-size"),),
        sources=(Source(title="Manual", url="https://example.org/manual"),),
    )


def knowing(*strategies: Strategy, hardware: str = "chip-a") -> Screen:
    about = situation(hardware=hardware)
    about = replace(about, facts={**about.facts, "hardware": frozenset(about.hardware)})
    return Screen(
        situation=about, frameworks=(), setting=lambda name: strategies if name == "block_size" else ()
    )


def test_a_setting_goes_when_all_strategies_that_set_it_so_fail() -> None:
    item = agreed("--block-size", "64", first=recipe(hardware="chip-b"))
    kept, refused = knowing(strategy("chip-b")).sift([item])
    assert kept == []
    assert [(one.strategy, one.fact) for one in refused] == [("blocks-for-chip-b", "--block-size")]
    assert knowing(strategy("chip-b"), strategy("chip-a")).sift([item])[0] == [item]
    assert knowing(strategy("chip-b", value=32)).sift([item])[0] == [item]


@pytest.mark.parametrize(("value", "goes"), [("1", True), ("true", True), ("0", False), ("64", False)])
def test_a_switch_that_a_strategy_sets_is_on_however_it_is_spelt(value: str, goes: bool) -> None:
    item = agreed("--block-size", value, first=recipe(hardware="chip-b"))
    assert (knowing(strategy("chip-b", value=1)).sift([item])[0] == []) is goes


@pytest.mark.parametrize(
    ("beside", "goes"), [({"--swap-space": "4"}, True), ({"--max-num-seqs": "9"}, False)]
)
def test_a_strategy_of_two_settings_judges_recipes_that_have_both(beside: dict[str, str], goes: bool) -> None:
    both = strategy("chip-b")
    both = replace(both, sets=(*both.sets, Assignment(parameter="swap_space", value=4, flag="--swap-space")))
    item = agreed(
        "--block-size", "64", first=recipe(sets={"--block-size": "64", **beside}, hardware="chip-b")
    )
    assert (knowing(both).sift([item])[0] == []) is goes


def test_what_was_published_for_this_very_hardware_stays() -> None:
    item = agreed("--block-size", "64", first=recipe(hardware="chip-a"))
    assert knowing(strategy("chip-b")).sift([item])[0] == [item]


def test_a_recipe_for_another_release_weighs_less() -> None:
    new = recipe("new", {"--max-num-seqs": "64", "--block-size": "64"})
    half = recipe("half", {"--max-num-seqs": "64", "--swap-space": "8"})
    old = recipe("old", {"--swap-space": "8", "--port": "80"})
    found = screen().usable(weighed(new, half, old))
    assert [one.weight for one in found] == pytest.approx([0.8, 0.2, 0.0])
    assert screen().usable(weighed(old)) == []
    plain = weighed(recipe("layout", {"--tensor-parallel-size": "8"}), old)
    assert [one.weight for one in screen().usable(plain)] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("name", "place", "key"),
    [
        ("max_num_seqs", SettingPlace.FLAG, "--max-num-seqs"),
        ("--max-num-seqs", SettingPlace.FLAG, "--max-num-seqs"),
        ("VLLM_USE_V1", SettingPlace.ENV, "VLLM_USE_V1"),
        ("MY_OWN", SettingPlace.ENV, "MY_OWN"),
        ("own_knob", SettingPlace.FLAG, "--own-knob"),
    ],
)
def test_a_setting_that_runs_now_has_its_place(name: str, place: SettingPlace, key: str) -> None:
    assert screen().place_of(name) == (place, key)


def test_a_field_of_a_section_that_takes_any_key_keeps_its_name() -> None:
    made = screen(situation(framework="mindformers", version="2.1.0"))
    for name in ("runner_config.gradient_accumulation_steps", "runner_config.epochs"):
        assert made.place_of(name)[1] == name


def test_what_a_release_removed_is_written_as_what_says_the_same_there() -> None:
    made = screen(situation(framework="sglang", version="0.5.23"))
    kept, _ = made.sift([agreed("--disable-piecewise-cuda-graph")])
    assert [(item.key, item.value) for item in kept] == [("--cuda-graph-backend-prefill", "disabled")]


def test_a_variable_keeps_the_older_name_that_the_script_gives_it() -> None:
    made = screen(situation(framework="sglang", version="0.5.23"))
    name = "SGLANG_EPLB_ROCM_P2P_BATCH_CHUNK_SIZE"
    assert made.place_of(name) == (SettingPlace.ENV, name)


def test_a_field_that_a_strategy_knows_stands_in_its_object() -> None:
    one = Strategy(
        id="s",
        labels={},
        kind="documented",
        sets=(Assignment(parameter="inner.fused", value=True, carrier="--own-config"),),
    )
    made = Screen(situation=situation(), frameworks=(), setting=lambda _: (one,))
    assert made.place_of("fused") == (SettingPlace.JSON, "own_config.inner.fused")


@pytest.mark.parametrize(
    ("told", "value", "fact"),
    [
        ("float16", "bfloat16", "precision"),
        ("bfloat16", "half", "precision"),
        ("bfloat16", "auto", "default"),
    ],
)
def test_the_other_format_of_sixteen_bits_is_ruled_out(told: str, value: str, fact: str) -> None:
    assert only(agreed("--dtype", value), precision=told)[1] == fact


@pytest.mark.parametrize("told", ["float16", "fp8", ""])
def test_the_format_that_is_told_stays(told: str) -> None:
    assert only(agreed("--dtype", "float16"), precision=told) == ("--dtype", "")


@pytest.mark.parametrize(
    ("key", "value", "sizes", "fact"),
    [
        ("--num-layers-per-virtual-pipeline-stage", "8", {"pp": 2, "layers": 36}, "layers"),
        ("--num-layers-per-virtual-pipeline-stage", "9", {"pp": 2, "layers": 36}, ""),
        (
            "--num-layers-per-virtual-pipeline-stage",
            "8",
            {"pp": 4, "layers": 94},
            "",
        ),  # empty layers make them 96
        ("--sequence-parallel", "true", {"tp": 1}, "second tensor rank"),
        ("--sequence-parallel", "true", {"tp": 2}, ""),
        ("--overlap-p2p-communication-warmup-flush", "true", {"pp": 1}, "second pipeline stage"),
    ],
)
def test_what_a_layout_has_no_use_for_is_left_out(
    key: str, value: str, sizes: dict[str, int], fact: str
) -> None:
    about = situation(framework="megatron-lm", version="0.16.0")
    _, refused = screen(replace(about, facts={**about.facts, **sizes})).sift([agreed(key, value)])
    assert [one.fact for one in refused] == ([fact] if fact else [])
