"""Plans of kernels: complete, fitting, modelled where nothing was measured, of the case where something was."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.errors import InfeasibleError, InputError, NoEvidenceError
from kg.nouns.values import Settings
from recommender.ranking.change import Change
from recommender.ranking.kernels.domain import generated_domain
from recommender.ranking.kernels.planning import PlannedKernel, kernel_plan
from recommender.ranking.kernels.question import kernel_question
from recommender.space.space_file import read_space
from tests.unit.recommender.ranking.kernel_questions import GPU, NPU, problem


def plan(npu: bool = False, operator: str = "gemm", **more: Any) -> PlannedKernel:
    options = {name: more.pop(name) for name in ("cases", "declared", "is_near", "k") if name in more}
    made = kernel_plan(
        problem(operator, npu=npu, **more), NPU if npu else GPU, version="v", label="device", **options
    )
    assert made is not None
    return made


def case(**configuration: object) -> Change:
    return Change(
        id="one",
        title="configuration of similar cases",
        configuration=Settings(configuration),
        flags=(),
        gain=None,
        against="",
        basis="timed in 1 similar problem",
    )


def start(made: PlannedKernel) -> dict[str, Any]:
    return {item["key"]: item["value"] for item in made.plan.to_json()["start"]["settings"]}


def test_the_vendors_tile_comes_out_for_a_cube_of_4096() -> None:
    found = start(plan(npu=True, language="ascend-c"))
    assert {found["baseM"], found["baseN"]} == {128, 256}
    assert (found["baseK"], found["dbL0A"], found["dbL0B"], found["usedCoreNum"]) == (64, 2, 2, 20)
    found = start(plan(npu=True, language="triton"))
    assert {found["BLOCK_M"], found["BLOCK_N"]} == {128, 256}
    assert (found["multibuffer"], found["grid"]) == (True, [20])


def test_a_plan_is_modelled_and_says_so() -> None:
    made = plan()
    json = made.plan.to_json()
    assert json["start"]["expected"][0]["tier"] == "modelled"
    low, value, high = (json["start"]["expected"][0][name] for name in ("low", "value", "high"))
    assert low < value < high
    assert "nothing was measured" in json["start"]["because"][0]
    assert all(change["gain"] is None for change in json["changes"])
    assert {setting["from"] for setting in json["start"]["settings"]} == {"cost model"}
    assert len(json["alternatives"]) == 2
    assert [item.gain for item in made.recommendations] == [None] * 3
    assert len(plan(k=5).recommendations) == 5
    assert "layout" in json["start"]
    assert json["start"]["layout"] is None


def test_a_current_setting_that_cannot_run_is_named_and_replaced() -> None:
    made = plan(npu=True, language="ascend-c", current={"baseM": 256, "baseN": 256, "baseK": 128})
    first = made.plan.not_here[0]
    assert "L0C" in first.because
    assert "262144 > 131072" in first.because
    found = start(made)
    assert found["baseM"] * found["baseN"] == 32768


def test_a_current_setting_that_runs_is_compared_and_kept_where_it_is_right() -> None:
    made = plan(npu=True, language="ascend-c", current={"baseM": 16, "baseK": 64})
    lines = made.plan.start.because
    assert any(line.startswith("with baseK=64, baseM=16 as it is now:") for line in lines)
    by_key = {item.key: str(item.origin) for item in made.plan.start.settings}
    assert (by_key["baseK"], by_key["baseM"]) == ("current", "cost model")


def test_a_case_decides_and_the_model_fills_the_rest() -> None:
    made = plan(cases=[case(BLOCK_SIZE_M=32, BLOCK_SIZE_N=64, num_warps=2)])
    by_key = {item.key: (item.value, str(item.origin)) for item in made.plan.start.settings}
    assert by_key["BLOCK_SIZE_M"] == (32, "case")
    assert by_key["num_warps"] == (2, "case")
    assert by_key["BLOCK_SIZE_K"][1] == "cost model"
    assert made.recommendations == ()
    assert "timed in 1 similar problem" in made.plan.start.because[0]


def test_cases_in_other_parameters_answer_unless_a_language_is_asked_for() -> None:
    cases = [case(framework="vllm")]
    assert kernel_plan(problem(), GPU, version="v", cases=cases) is None
    assert plan(cases=cases, language="triton").recommendations


def test_cases_from_too_far_leave_the_start_to_the_model() -> None:
    made = plan(cases=[case(BLOCK_SIZE_M=32, num_warps=2)], is_near=False)
    assert {str(item.origin) for item in made.plan.start.settings} == {"cost model"}
    assert made.recommendations
    assert kernel_plan(problem(), GPU, version="v", cases=[case(framework="x")], is_near=False) is None


def test_what_is_no_kernel_has_no_plan() -> None:
    assert kernel_plan(problem("dispatch"), GPU, version="v") is None


def test_a_declared_space_is_the_domain() -> None:
    space = read_space({"parameters": {"BLOCK_SIZE_M": [32, 64], "BLOCK_SIZE_N": [64]}})
    found = start(plan(declared=space))
    assert (found["BLOCK_SIZE_M"], found["BLOCK_SIZE_N"]) == (64, 64)
    assert "GROUP_SIZE_M" not in found  # code that the declared kernel lacks; options of a launch are there
    assert {"num_warps", "num_stages"} <= set(found)


@pytest.mark.parametrize(
    ("operator", "npu", "more", "error"),
    [
        ("gemm", False, {"shape": {"M": 1}}, InputError),
        ("fused_moe", True, {"shape": {"M": 64, "N": 1024}}, NoEvidenceError),
        ("attention", True, {"shape": {"S": 4096, "D": 65536}, "language": "triton"}, InfeasibleError),
    ],
)
def test_what_cannot_be_planned_says_why_unless_cases_answer(
    operator: str, npu: bool, more: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        plan(npu, operator, **more)
    facts = NPU if npu else GPU
    cases = [case(framework="vllm")]
    assert kernel_plan(problem(operator, npu=npu, **more), facts, version="v", cases=cases) is None


SIDE = st.integers(min_value=1, max_value=20000)


@pytest.mark.long
@given(m=SIDE, n=SIDE, k=SIDE, npu=st.booleans(), fine=st.sampled_from(["triton", "other"]))
@settings(max_examples=25, deadline=None)
def test_every_start_keeps_every_limit(m: int, n: int, k: int, npu: bool, fine: str) -> None:
    language = "ascend-c" if npu and fine == "other" else "triton"
    asked = problem(npu=npu, shape={"M": m, "N": n, "K": k}, precision="float16", language=language)
    facts = NPU if npu else GPU
    made = kernel_plan(asked, facts, version="v")
    assert made is not None
    domain = generated_domain(kernel_question(asked, facts))
    for one in made.recommendations:
        assert domain.broken(dict(one.configuration)) == ()
    again = kernel_plan(replace(asked), dict(facts), version="v")
    assert again is not None
    assert again.plan.to_json() == made.plan.to_json()


@given(m=SIDE, n=SIDE, k=SIDE, npu=st.booleans())
@settings(max_examples=15, deadline=None)
def test_no_other_start_is_promised_to_be_faster(m: int, n: int, k: int, npu: bool) -> None:
    asked = problem(npu=npu, shape={"M": m, "N": n, "K": k}, precision="float16", language="triton")
    made = kernel_plan(asked, NPU if npu else GPU, version="v")
    assert made is not None
    [first] = made.plan.start.expected
    for other in made.plan.alternatives:
        assert all(first.value <= one.value for one in other.expected)
        assert other.expected or "to be tested" in other.because[0]
