"""Settings of a strategy in the release that a question names."""

import pytest

from kg.nouns.knowledge import Assignment, Strategy
from kg.terms.conditions import Truth
from recommender.applicability.gate import judge_release

PREFETCH = Assignment(
    parameter="VLLM_ASCEND_ENABLE_PREFETCH_MLP", value="1", environment=True, software="vllm-ascend"
)
CHUNKED = Assignment(
    parameter="enable_chunked_prefill", value=True, flag="--enable-chunked-prefill", software="vllm"
)
GRAPH = Assignment(
    parameter="cudagraph_mode", value="FULL_DECODE_ONLY", carrier="--compilation-config", software="vllm"
)
CODE = Assignment(parameter="optimizer", value="NpuFusedAdamW", software="torch-npu")


def strategy(*sets: Assignment) -> Strategy:
    return Strategy(id="s", labels={"en": "S"}, kind="documented", sets=sets)


@pytest.mark.parametrize(
    ("sets", "release", "truth", "because"),
    [
        ((PREFETCH,), "0.11.0", Truth.HOLDS, ""),
        ((PREFETCH,), "0.23.0", Truth.FAILS, "removed"),
        ((CHUNKED,), "0.23.0", Truth.FAILS, "default of vllm-ascend 0.23.0"),
        ((CHUNKED, GRAPH), "0.23.0", Truth.HOLDS, ""),
        ((GRAPH,), "0.23.0", Truth.HOLDS, ""),
        ((CODE,), "0.23.0", Truth.HOLDS, ""),
        ((), "0.23.0", Truth.HOLDS, ""),
    ],
)
def test_a_setting_that_is_gone_or_the_default_is_no_advice(
    sets: tuple[Assignment, ...], release: str, truth: Truth, because: str
) -> None:
    judged = judge_release(strategy(*sets), {"software[vllm-ascend]": release})
    assert judged.truth is truth
    assert because in judged.because


@pytest.mark.parametrize(("value", "truth"), [(False, Truth.FAILS), (True, Truth.HOLDS)])
def test_what_code_sets_is_no_advice_where_a_flag_of_that_name_has_it(value: bool, truth: Truth) -> None:
    code = Assignment(parameter="jit_compile", value=value, software="torch-npu")
    assert judge_release(strategy(code), {"software[mindspeed]": "2.2.0"}).truth is truth


def test_software_without_a_registry_decides_nothing() -> None:
    assert judge_release(strategy(PREFETCH), {"software[my-engine]": "1.0"}).truth is Truth.HOLDS
    assert judge_release(strategy(PREFETCH), {"software[vllm-ascend]": "no release"}).truth is Truth.HOLDS


@pytest.mark.parametrize(("release", "truth"), [("0.11.0", Truth.FAILS), ("0.12.0", Truth.HOLDS)])
def test_a_choice_that_a_release_lacks_is_no_advice(release: str, truth: Truth) -> None:
    suffix = Assignment(parameter="method", value="suffix", carrier="--speculative-config", software="vllm")
    judged = judge_release(strategy(suffix), {"software[vllm]": release})
    assert judged.truth is truth
    assert ("does not take suffix" in judged.because) is (truth is Truth.FAILS)


@pytest.mark.parametrize(("value", "truth"), [("1", Truth.HOLDS), ("0", Truth.FAILS)])
def test_what_a_release_does_without_its_removed_setting_is_no_hindrance(value: str, truth: Truth) -> None:
    sets = [
        Assignment(parameter=f"SGLANG_ENABLE_{name}", value=on, environment=True, software="sglang")
        for name, on in (("SPEC_V2", value), ("OVERLAP_PLAN_STREAM", "1"))
    ]
    facts = {"software[sglang]": "0.5.23"}
    assert judge_release(strategy(*sets), facts).truth is truth
    assert judge_release(strategy(sets[0]), facts).truth is Truth.FAILS
