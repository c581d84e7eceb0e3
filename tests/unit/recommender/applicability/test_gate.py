"""The gate: a strategy applies, may apply, or does not, and the fact that decides is named."""

from dataclasses import replace

from kg.nouns.entities import Source
from kg.nouns.framework import Framework
from kg.nouns.knowledge import Assignment, Strategy
from kg.nouns.scope import ScopeClause
from kg.terms.conditions import FactValue, Truth
from recommender.applicability.gate import judge

GUIDE = Source(title="a guide", url="https://example.org/guide")
VLLM = Framework(
    id="vllm-ascend",
    labels={"en": "vLLM Ascend"},
    phases=("decode",),
    hardware=("huawei",),
    stack=("vllm", "cann"),
)
TRAINER = Framework(
    id="mindspeed-llm", labels={"en": "MindSpeed LLM"}, phases=("training",), hardware=("huawei",)
)
FACTS: dict[str, FactValue] = {
    "phase": "decode",
    "model": frozenset({"qwen3-32b", "qwen", "decoder", "transformer"}),
    "hardware": frozenset({"ascend-910b3", "ascend-a2", "huawei"}),
    "experts": 0,
    "software[vllm-ascend]": "0.23.0",
}


def strategy(**fields: object) -> Strategy:
    return Strategy(id="s", labels={"en": "S"}, kind="documented", **fields)  # type: ignore[arg-type]


def test_a_strategy_of_another_phase_does_not_apply() -> None:
    judged = judge(strategy(phases=("training",)), FACTS)
    assert (judged.truth, judged.because) == (Truth.FAILS, "phase: decode")


def test_a_serving_question_takes_in_both_halves() -> None:
    facts = FACTS | {"phase": "serving"}
    assert all(
        judge(strategy(phases=(phase,)), facts).truth is Truth.HOLDS for phase in ("prefill", "decode")
    )
    assert judge(strategy(phases=("prefill",)), FACTS).truth is Truth.FAILS


def test_settings_that_the_framework_does_not_read_are_no_advice() -> None:
    flag = Assignment(parameter="--use-flash-attn", value=True, software="mindspeed")
    judged = judge(strategy(sets=(flag,)), FACTS, [VLLM, TRAINER])
    assert judged.truth is Truth.FAILS
    assert judged.because == "framework: vLLM Ascend does not read settings of mindspeed"
    below = Assignment(parameter="HCCL_BUFFSIZE", value=800, environment=True, software="cann")
    assert judge(strategy(sets=(below,)), FACTS, [VLLM]).truth is Truth.HOLDS
    unreleased = {name: value for name, value in FACTS.items() if not name.startswith("software[")}
    unreleased |= {"framework": frozenset({"vllm-ascend"})}
    assert judge(strategy(sets=(flag,)), unreleased, [VLLM, TRAINER]).truth is Truth.FAILS


def test_a_condition_that_fails_names_its_fact_and_its_source() -> None:
    clause = ScopeClause(condition="experts > 0", source=GUIDE)
    judged = judge(strategy(applies_when=(clause,)), FACTS)
    assert (judged.truth, judged.source) == (Truth.FAILS, GUIDE.url)
    assert judged.because == "routed experts of the model: 0"


def test_an_unknown_fact_makes_an_if_and_a_failing_one_decides_before_it() -> None:
    unknown = ScopeClause(
        condition="shared_prefix_share > 0.2", source=GUIDE, reason="prompts share prefixes"
    )
    fails = ScopeClause(condition="experts > 0", source=GUIDE)
    may = judge(strategy(applies_when=(unknown,)), FACTS)
    assert (may.truth, may.because, may.missing) == (
        Truth.UNKNOWN,
        "prompts share prefixes",
        frozenset({"shared_prefix_share"}),
    )
    assert judge(strategy(applies_when=(unknown, fails)), FACTS).truth is Truth.FAILS


def test_an_unknown_model_makes_a_family_strategy_an_if() -> None:
    facts = {key: value for key, value in FACTS.items() if key != "model"}
    assert judge(strategy(families=("moe-decoder",)), facts).truth is Truth.UNKNOWN
    assert judge(strategy(families=("moe-decoder",)), FACTS).truth is Truth.FAILS


def test_a_server_runs_its_own_code() -> None:
    code = Assignment(parameter="jit_compile", value=False, software="vllm")
    for found in (strategy(sets=(code,)), strategy(work="code")):
        judged = judge(found, FACTS, [VLLM])
        assert (judged.truth, judged.because) == (
            Truth.FAILS,
            "framework: vLLM Ascend runs code of its own",
        )
    assert judge(strategy(work="layout"), FACTS, [VLLM]).truth is Truth.HOLDS
    training = {"phase": "training", "software[mindspeed-llm]": "2.3"}
    assert judge(strategy(work="code"), training, [VLLM, TRAINER]).truth is Truth.HOLDS


def test_a_trainer_with_a_command_of_its_own_runs_its_own_code() -> None:
    installed = replace(TRAINER, id="llama-factory", labels={"en": "LLaMA-Factory"})
    asked = {"phase": "training", "software[llama-factory]": "0.9.5"}
    judged = judge(strategy(work="code"), asked, [installed])
    assert (judged.truth, judged.because) == (Truth.FAILS, "framework: LLaMA-Factory runs code of its own")


def test_what_nobody_observed_is_no_if() -> None:
    seen = ScopeClause(
        condition='bottleneck["host-bound"] > 0 or setting["HCCL_ALGO"] != ""',
        source=GUIDE,
        reason="the device waits for the host",
    )
    judged = judge(strategy(applies_when=(seen,)), FACTS)
    assert (judged.truth, judged.because) == (
        Truth.FAILS,
        "nothing shows that the device waits for the host",
    )
    assert judge(strategy(applies_when=(seen,)), FACTS | {"bottleneck[host-bound]": 0.2}).truth is Truth.HOLDS
    either = ScopeClause(condition='memory_short or bottleneck["host-bound"] > 0', source=GUIDE)
    assert judge(strategy(applies_when=(either,)), FACTS).truth is Truth.UNKNOWN


def test_where_nobody_looked_a_profile_may_show_it() -> None:
    seen = ScopeClause(condition='bottleneck["host-bound"] > 0', source=GUIDE, reason="the device waits")
    judged = judge(strategy(applies_when=(seen,)), FACTS)
    assert (judged.truth, judged.because) == (Truth.UNKNOWN, "a profile shows that the device waits")
    looked = FACTS | {"bottleneck[memory]": 0.2}
    assert judge(strategy(applies_when=(seen,)), looked).truth is Truth.FAILS


def test_where_a_question_names_its_programs_no_other_one_runs() -> None:
    old = ScopeClause(condition='software["sglang"] < "0.5"', source=GUIDE)
    assert judge(strategy(applies_when=(old,)), FACTS).truth is Truth.UNKNOWN
    named = FACTS | {"framework": frozenset({"vllm-ascend"})}
    assert judge(strategy(applies_when=(old,)), named).truth is Truth.FAILS


def test_a_model_that_pools_does_not_decode() -> None:
    judged = judge(strategy(phases=("decode",)), FACTS | {"pooling": True})
    assert (judged.truth, "does not decode" in judged.because) == (Truth.FAILS, True)


def test_a_server_of_one_role_takes_nothing_of_the_other() -> None:
    for phases, holds in ((("decode",), False), (("prefill",), True), (("prefill", "decode"), True)):
        judged = judge(strategy(phases=phases), FACTS | {"phase": "serving", "role": "prefill"})
        assert (judged.truth is Truth.HOLDS) == holds
    assert (
        judge(strategy(phases=("decode",)), FACTS | {"role": "prefill"}).because == "this is a prefill server"
    )


def test_what_belongs_to_a_part_that_the_model_has_not_is_one_fact() -> None:
    images = strategy(
        sets=(
            Assignment(
                parameter="mm_encoder_tp_mode", value="data", flag="--mm-encoder-tp-mode", software="vllm"
            ),
        )
    )
    judged = judge(images, {"vision_tower": False, "audio_tower": False})
    assert (judged.truth, judged.because) == (Truth.FAILS, "no encoder of images or sound")
    assert judge(images, {"vision_tower": True}).truth is Truth.HOLDS
    assert judge(images, {}).truth is Truth.HOLDS  # nothing says that it has none


def test_a_part_of_the_work_is_nothing_that_a_model_lacks() -> None:
    pool = strategy(
        sets=(
            Assignment(parameter="kv_role", value="kv_both", carrier="--kv-transfer-config", software="vllm"),
        )
    )
    assert judge(pool, {"disaggregated": False}).truth is Truth.HOLDS
