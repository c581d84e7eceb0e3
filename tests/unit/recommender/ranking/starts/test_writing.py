"""Start configurations as they are written."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.errors import InputError
from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from kg.nouns.situation import FactOrigin, Situation, StatedFact
from kg.nouns.values import Value
from kg.terms.dialects import spell
from kg.terms.meanings import degree_of, meaning_of, own_names
from kg.terms.setting_registry import registry
from recommender.cost_model.priced_step import PricedStep
from recommender.ranking.paste import UNNAMED
from recommender.ranking.plan_setting import Origin, settings_by_key
from recommender.ranking.start import StartConfiguration
from recommender.ranking.starts.current_settings import with_current
from recommender.ranking.starts.layout_choice import ChosenLayout
from recommender.ranking.starts.recipes.agreement import AgreedSetting
from recommender.ranking.starts.situation import StartSituation
from recommender.ranking.starts.writing import repriced, switched, typed, write_start
from tests.unit.recommender.ranking.starts.situations import (
    agreed,
    draft,
    recipe,
    screen,
    situation,
    weighed,
)

LAYOUT = ParallelLayout(tp=2, dp=4)
CHOSEN = ChosenLayout(
    option=PricedStep(
        layout=LAYOUT,
        settings={"batch": 32.0},
        log_merit=0.0,
        beyond_limits=0.0,
        memory_bytes=40e9,
        capacity_bytes=64e9,
        results={"throughput": 1000.0, "tpot_s": 0.02, "ttft_s": math.inf},
        spread=0.1,
    ),
    agreement=0.2,
    score=0.0,
)
SETTINGS = [
    agreed("--block-size", "64"),
    agreed("VLLM_LOGGING_LEVEL", "1"),
    agreed("compilation_config.cudagraph_mode", "FULL"),
    agreed("--async-scheduling"),
]


def write(
    *kept: AgreedSetting, about: StartSituation | None = None, chosen: ChosenLayout | None = CHOSEN
) -> StartConfiguration:
    about = about or situation()
    recipes = weighed(recipe("near"), recipe("far"), weights=(0.95, 0.05))
    made = draft(*kept, about=about, behind=recipes)
    return write_start(made, chosen, LAYOUT, screen(about))


def values(start: StartConfiguration) -> dict[str, object]:
    found: dict[str, object] = {item.key: item.value for item in start.settings}
    assert len(found) == len(start.settings), "a key stands twice"
    return found


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("False", False), ("64", 64), ("0.9", 0.9), ("[1,2]", "[1,2]"), ("auto", "auto")],
)
def test_a_value_is_written_as_what_it_is(text: str, value: object) -> None:
    assert typed(text) == value
    assert type(typed(text)) is type(value)


def test_the_one_of_a_file_switches_on_what_a_command_says_without_a_value() -> None:
    made = values(write(agreed("--enforce-eager", "1"), agreed("--block-size", "1")))
    assert (made["--enforce-eager"], made["--block-size"]) == (True, 1)
    assert made["--max-num-seqs"] is not True


def test_layout_settings_and_what_the_price_assumes_stand_together() -> None:
    start = write(*SETTINGS)
    assert values(start) == {
        "--tensor-parallel-size": 2,
        "--data-parallel-size": 4,
        "--max-num-seqs": 32,
        "--block-size": 64,
        "--async-scheduling": True,
        "VLLM_LOGGING_LEVEL": "1",
        "compilation_config.cudagraph_mode": "FULL",
    }
    assert (start.layout, start.fits) == (LAYOUT, True)
    assert [(item.metric, item.unit) for item in start.expected] == [
        ("throughput", "tokens/s"),
        ("tpot", "s"),
    ]
    assert all(item.low < item.value < item.high and item.tier == "modelled" for item in start.expected)
    assert start.because[0] == "memory: 40 GB of each device at 32 sequences an engine"
    assert [line for line in start.because if line.startswith("nearest recipe ")] == [
        "nearest recipe near, weight 95% <https://example.org/near>"
    ]


@given(st.permutations(SETTINGS))
def test_the_order_in_which_recipes_agree_changes_no_value(order: list[AgreedSetting]) -> None:
    assert values(write(*order)) == values(write(*SETTINGS))


def test_what_recipes_set_is_not_set_again_by_the_price() -> None:
    start = write(agreed("--max-num-seqs", "64"))
    assert values(start)["--max-num-seqs"] == 64


@pytest.mark.parametrize("set_by_recipe", [False, True])
def test_positions_are_stretched_once(set_by_recipe: bool) -> None:
    about = situation(input_len=60_000, output_len=1000)
    about = replace(about, model=replace(about.model, most_tokens=40_960))
    recipes = [agreed("hf_overrides.rope_parameters.factor", "4.0")] if set_by_recipe else []
    start = write(agreed("--block-size", "64"), *recipes, about=about)
    stretched = [item for item in start.settings if "rope_" in item.key and item.key.endswith(".factor")]
    assert [item.value for item in stretched] == [4.0 if set_by_recipe else 1.5]


def test_less_agreed_settings_stay_out() -> None:
    assert "--block-size" not in values(write(agreed("--block-size", "64", share=0.4)))


def test_what_runs_now_stays_and_is_said_to() -> None:
    current: dict[str, Value] = {"block_size": 128, "own_knob": 3, "MY_OWN": "x", "cudagraph_mode": "NONE"}
    start = write(*SETTINGS, about=situation(current=current))
    kept = {item.key: item.value for item in start.settings if item.origin is Origin.CURRENT}
    assert kept == {
        "--block-size": 128,
        "--own-knob": 3,
        "MY_OWN": "x",
        "compilation_config.cudagraph_mode": "NONE",
    }
    assert values(start)["--async-scheduling"] is True


@pytest.mark.parametrize(
    "spelling", ["tp", "tensor_parallel_size", "--tp-size", "tensor_model_parallel_size"]
)
def test_a_size_that_runs_now_is_said_once_as_the_program_spells_it(spelling: str) -> None:
    start = write(about=situation(framework="sglang", current={spelling: 2}))
    sizes = [(item.key, item.value, item.origin) for item in start.settings if degree_of(item.key) == "tp"]
    assert sizes == [("--tp-size", 2, Origin.CURRENT)]


@pytest.mark.parametrize("program", ["vllm", "vllm-ascend", "sglang", "megatron-lm", "mindspeed-llm"])
def test_what_runs_by_our_names_is_written_as_the_release_has_it_or_refused(program: str) -> None:
    release = registry(program).at()
    for name in own_names():
        about = situation(framework=program, version=release.release, current={name: 2})
        meaning = meaning_of(name)
        assert meaning is not None
        known = release.look_up(name, suggest=False).setting
        said = spell(meaning.fact, program, release.release, meaning.says(2)) if meaning.reads(2) else None
        if known is None and said is None:
            with pytest.raises(InputError, match=f"no setting that says {name}=2"):
                with_current([], about, screen(about), is_divided=False)
        else:
            item, *beside = with_current([], about, screen(about), is_divided=False)
            assert [one.key for one in beside] == list(said[0].beside if known is None and said else ())
            assert item.key == (said[0].key if known is None and said else known and known.key)


def test_what_runs_in_a_file_of_json_stays_there() -> None:
    path = "BackendConfig.ModelDeployConfig.ModelConfig.tp"
    place = StatedFact(name="places.tp", value=path, origin=FactOrigin.SCRIPT)
    about = situation(framework="mindie", version="3.0.0", current={"tp": 2})
    about = replace(about, problem=replace(about.problem, situation=Situation.of([place])))
    [item] = with_current([], about, screen(about), is_divided=False)
    assert (item.where, item.key, item.file, item.value) == (SettingPlace.JSON, path, "config.json", 2)


def test_a_switch_in_the_environment_is_a_number() -> None:
    about = situation(framework="vllm-ascend", version="0.18.0", current={"sequence_parallel": True})
    [item] = with_current([], about, screen(about), is_divided=False)
    assert (item.where, item.value) == (SettingPlace.ENV, 1)


def test_a_setting_that_the_price_assumes_is_left_out_where_the_release_does_it_anyway() -> None:
    about = situation(framework="megatron-lm", version="")
    release = screen(about).release()
    assert release is not None
    for key in values(write(about=about)):
        assert release.look_up(key).usable, key


def test_sglang_holds_the_replicas_of_a_mixture_inside() -> None:
    start = write(about=situation("experts", framework="sglang", version=""))
    assert start.layout == ParallelLayout(tp=8, dp=4, dp_attention=True)
    assert start.layout.devices == LAYOUT.devices
    assert values(start)["--enable-dp-attention"] is True


def test_without_a_price_nothing_is_expected_and_it_is_not_said_to_fit() -> None:
    start = write(*SETTINGS, chosen=None)
    assert (start.fits, start.expected) == (None, ())
    assert "--max-num-seqs" not in values(start)


def test_recipes_cut_no_sequences_of_what_runs() -> None:
    for about, kept in (
        (situation(), True),
        (situation(current={}), False),
        (situation(current={}, input_len=100), True),
    ):
        assert ("--max-model-len" in values(write(agreed("--max-model-len", "4096"), about=about))) is kept


@pytest.mark.parametrize(
    ("framework", "told", "checkpoint", "taken"),
    [
        ("vllm", "", "", "org/Pine-8B"),
        ("vllm", "8b", "", "org/Pine-8B"),
        ("vllm", "PINE-8b", "", "org/Pine-8B"),
        ("vllm", "pine-8b-instruct", "", "org/Pine-8B-Instruct"),
        ("vllm", "pine-8b-it", "", "org/Pine-8B-it"),
        ("vllm", "pine-8b-instruct", "own/weights", "own/weights"),
        ("llama.cpp", "pine-8b", "", "WEIGHTS.gguf"),
        ("llama.cpp", "", "own.gguf", "own.gguf"),
    ],
)
def test_the_weights_are_named_as_told_else_as_the_hub_has_them(
    framework: str, told: str, checkpoint: str, taken: str
) -> None:
    about = situation(framework=framework, version="")
    said = {"named": told, "checkpoint": checkpoint}
    facts = [
        StatedFact(name=name, value=value, origin=FactOrigin.TOLD) for name, value in said.items() if value
    ]
    about = replace(
        about,
        model=replace(about.model, hub="org/Pine-8B"),
        problem=replace(about.problem, situation=Situation.of(facts)),
    )
    assert write(about=about).checkpoint == taken.replace("WEIGHTS", UNNAMED)


def test_a_start_rests_on_the_weightiest_recipes_that_divide_the_work_alike() -> None:
    alike, other = {"tp": 2, "dp": 4}, {"tp": 8}
    behind = weighed(
        *(recipe(name, layout=layout) for name, layout in zip("abcdef", (alike, other) * 3, strict=True)),
        weights=(0.4, 0.3, 0.11, 0.1, 0.05, 0.04),
    )
    made = draft(about=situation(), behind=behind)
    assert write_start(made, CHOSEN, LAYOUT, screen()).recipes == ("a", "c")
    assert write_start(made, None, LAYOUT, screen()).recipes == ("a", "b", "c")


@pytest.mark.parametrize(
    ("framework", "experts", "copies"), [("sglang", 10, 2), ("sglang", 8, None), ("vllm", 10, None)]
)
def test_experts_that_devices_do_not_divide_are_copied(framework: str, experts: int, copies: int) -> None:
    about = situation("experts", framework=framework, experts=experts)
    made = draft(about=about, behind=weighed(recipe()))
    start = write_start(made, None, ParallelLayout(tp=4, ep=4), screen(about))
    assert values(start).get("--ep-num-redundant-experts") == copies


def test_what_spreads_experts_by_itself_is_not_told_how_far() -> None:
    about = situation("experts", framework="sglang", version="", experts=8)
    layout = ParallelLayout(tp=8, ep=8)
    for kept, is_told in (([], True), ([agreed("--moe-a2a-backend", "deepep")], False)):
        start = write_start(draft(*kept, about=about), None, layout, screen(about))
        assert any(key.startswith("--ep") for key in values(start)) == is_told


def test_a_new_price_stands_where_the_old_one_stood() -> None:
    start = write()
    old = [line for line in start.because if line.startswith("memory: 40 GB")]
    price = replace(CHOSEN.option, memory_bytes=50e9, results={**CHOSEN.option.results, "throughput": 7.0})
    made = repriced(start, CHOSEN.option, price, situation().problem)
    assert [line.replace("50 GB", "40 GB") for line in made.because] == list(start.because)
    assert len(old) == 1
    assert old[0] not in made.because
    assert made.expected != start.expected


def test_a_switch_is_written_as_its_release_has_it() -> None:
    def written(version: str, **told: Value) -> dict[str, tuple[object, str]]:
        settings = settings_by_key({f"--{key.replace('_', '-')}": value for key, value in told.items()})
        made = switched(settings, registry("vllm").at(version))
        return {item.key: (item.value, item.negation) for item in made}

    off = written("0.18.0", enable_prefix_caching=False, max_num_seqs=0, unheard_of=False)
    assert off["--enable-prefix-caching"] == (False, "--no-enable-prefix-caching")
    assert off["--max-num-seqs"] == (0, "")
    assert off["--unheard-of"] == (False, "")
    assert written("0.6.0", enforce_eager=False) == {}  # has no flag that switches it off, and is off
    for text in ("1", "true"):
        assert written("0.6.0", enforce_eager=typed(text)) == {"--enforce-eager": (True, "")}
    assert written("0.18.0", enable_prefix_caching=0)["--enable-prefix-caching"][0] is False
