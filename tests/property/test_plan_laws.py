"""Laws of plans, on the shipped knowledge: what starts and changes never say, whatever is asked."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kg.nouns.framework import Framework
from kg.nouns.recipe import Recipe
from kg.terms.purposes import Purpose, plain_key, purpose
from kg.terms.setting_conflicts import broken_conflicts
from kg.terms.setting_registry import ReleaseSettings
from kg.triples.serialisation import all_of
from recommender.answers.answer import Answer
from recommender.cost_model.priced_step import price
from recommender.ranking.plan.plan import Plan
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.workspace.workspace import Workspace

CHAT = {"input_len": 2048, "output_len": 512}
QUESTIONS: list[dict[str, Any]] = [
    {"model": "qwen3-8b", "phase": "serving", "hardware": "910b3", "count": 2, "shape": CHAT},
    {"model": "deepseek-v3", "phase": "serving", "hardware": "atlas-800i-a3", "count": 32, "shape": CHAT},
    {"model": "qwen3-8b", "phase": "training", "hardware": "910b3", "count": 8, "shape": {"seq_len": 4096}},
    {"model": "bert-large", "phase": "training", "hardware": "910b3", "count": 8},
    {"model": "llama-2-7b", "phase": "serving", "hardware": "h100-sxm", "count": 6, "shape": CHAT},
    {
        "model": "qwen3-8b",
        "phase": "serving",
        "hardware": "910b3",
        "count": 2,
        "software": {"sglang": "0.5.9"},
    },
    {
        "model": "qwen3-8b",
        "phase": "serving",
        "hardware": "910b3",
        "count": 4,
        "software": {"vllm-ascend": "0.11.0"},
        "current": {"max_num_seqs": 24, "HCCL_OP_EXPANSION_MODE": "AIV", "own_knob": 1},
    },
]


def answered(shipped: Workspace, question: dict[str, Any], k: int = 50) -> Answer:
    problem, notes = shipped.problem(question)
    return shipped.recommend(problem, k, notes=notes)


@pytest.fixture(scope="module")
def answer(shipped: Workspace) -> Callable[[int], Answer]:
    """The answer to a question by its place, asked once."""
    return cache(lambda place: answered(shipped, QUESTIONS[place]))


def plan_of(answer: Answer) -> Plan:
    assert answer.plan is not None
    return answer.plan


@pytest.fixture(
    scope="module",
    params=range(len(QUESTIONS)),
    ids=lambda n: "-".join(str(v) for v in list(QUESTIONS[n].values())[:3]),
)
def plan(request: pytest.FixtureRequest, answer: Callable[[int], Answer]) -> Plan:
    return plan_of(answer(request.param))


def release_of(shipped: Workspace, question: dict[str, Any]) -> ReleaseSettings | None:
    problem, _ = shipped.problem(question)
    finder = shipped.snapshot.recommender.planner.starts
    situation = finder.situation(problem)
    assert situation is not None
    return finder.release(situation)


def settings_of(plan: Plan) -> Iterator[PlanSetting]:
    yield from plan.start.settings
    for start in plan.alternatives:
        yield from start.settings
    for change in (*plan.changes, *plan.further):
        yield from change.settings


def place(item: PlanSetting) -> tuple[str, str]:
    return item.where, plain_key(item.key)


def test_no_key_has_two_values_in_a_start(plan: Plan) -> None:
    for start in (plan.start, *plan.alternatives):
        places = [place(item) for item in start.settings]
        assert len(places) == len(set(places))


def test_a_layout_takes_the_devices_that_are_asked_for(plan: Plan) -> None:
    for start in (plan.start, *plan.alternatives):
        assert start.layout is not None
        assert start.layout.devices == plan.understood["devices"]
        assert start.fits is not False


def test_alternatives_are_of_another_kind(plan: Plan) -> None:
    layouts = [start.layout for start in (plan.start, *plan.alternatives) if start.layout is not None]
    kinds = {(one.tp, one.pp, one.ep > 1, one.dp if one.dp_attention else 0) for one in layouts}
    assert len(kinds) == len(layouts) == 1 + len(plan.alternatives)


def test_no_change_repeats_the_start_or_contradicts_it_without_a_gain(plan: Plan) -> None:
    begun = {place(item): str(item.value).lower() for item in plan.start.settings}
    for change in (*plan.changes, *plan.further):
        if change.settings:
            assert not all(begun.get(place(one)) == str(one.value).lower() for one in change.settings), change
        if change.gain is None:
            for one in change.settings:
                assert begun.get(place(one), str(one.value).lower()) == str(one.value).lower(), change


def test_no_change_is_expected_to_lose(plan: Plan) -> None:
    for change in (*plan.changes, *plan.further):
        assert change.gain is None or change.gain.probability_of_gain >= 0.5


@pytest.mark.parametrize(
    "most", ["tpot<=15ms", *(pytest.param(f"tpot<={ms}ms", marks=pytest.mark.long) for ms in (30, 50))]
)
@pytest.mark.parametrize(
    ("model", "hardware"), [("qwen3-32b", "h100-sxm"), ("qwen3-235b-a22b", "ascend-910c")]
)
def test_a_start_that_is_said_to_keep_the_limits_keeps_them_as_it_is_written(
    shipped: Workspace, model: str, hardware: str, most: str
) -> None:
    """Also with the settings of recipes, which no layout was chosen by."""
    asked = {"model": model, "phase": "serving", "hardware": hardware, "count": 8, "precision": "int8"}
    answer = answered(shipped, {**asked, "limits": [most], "shape": {"input_len": 3500, "output_len": 1500}})
    said = [fact.words for fact in answer.assumed if "keeps the limits" in fact.words]
    assert not (said and plan_of(answer).missed), said


def test_no_two_changes_exclude_each_other_or_set_the_same(plan: Plan) -> None:
    listed = (*plan.changes, *plan.further)
    strategies = {change.strategy for change in listed if change.strategy}
    assert len({change.id for change in listed}) == len(listed)
    for change in listed:
        assert not strategies & set(change.conflicts)


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_nothing_that_a_release_lacks_or_does_anyway_is_set(
    shipped: Workspace, answer: Callable[[int], Answer], number: int
) -> None:
    release = release_of(shipped, QUESTIONS[number])
    if release is None:
        return
    for item in settings_of(plan_of(answer(number))):
        if item.origin in {Origin.RECIPE, Origin.COST_MODEL} and purpose(item.key) is not Purpose.LAYOUT:
            found = release.look_up(item.key, item.where)
            assert found.usable, f"{item}: {found}"
            assert not found.is_default(item.value), item


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_no_conflict_of_the_program_is_in_a_start_or_made_by_a_change(
    shipped: Workspace, answer: Callable[[int], Answer], number: int
) -> None:
    release, plan = release_of(shipped, QUESTIONS[number]), plan_of(answer(number))
    if release is None:
        return
    begun = {item.key: item.value for item in plan.start.settings}
    held = set(broken_conflicts(release, begun))
    assert held == set()
    for change in (*plan.changes, *plan.further):
        both = {**begun, **{item.key: item.value for item in change.settings}}
        assert set(broken_conflicts(release, both)) == set(), change


@pytest.fixture(scope="module")
def sources(shipped: Workspace) -> Mapping[str, set[str]]:
    """The pages of the recipes of each framework."""
    found: dict[str, set[str]] = {one.id: set() for one in all_of(shipped.graph, Framework)}
    for one in all_of(shipped.graph, Recipe):
        found[one.framework].add(one.source.url)
    return found


def test_nothing_of_another_framework_is_set(sources: Mapping[str, set[str]], plan: Plan) -> None:
    changed = (item for change in (*plan.changes, *plan.further) for item in change.settings)
    for item in (*plan.start.settings, *changed):
        if item.origin is Origin.RECIPE:
            assert item.source in sources[plan.start.framework]


def test_what_runs_now_is_in_the_start_and_is_not_advised(answer: Callable[[int], Answer]) -> None:
    current = QUESTIONS[-1]["current"]
    plan = plan_of(answer(len(QUESTIONS) - 1))
    kept = {plain_key(i.key): i.value for i in plan.start.settings if i.origin is Origin.CURRENT}
    assert kept == {plain_key(name): value for name, value in current.items()}
    for change in (*plan.changes, *plan.further):
        for item in change.settings:
            assert kept.get(plain_key(item.key)) != item.value


@pytest.mark.parametrize(
    "other",
    [
        {"model": "qwen3-30b-a3b"},
        {"phase": "training"},
        {"software": {"sglang": "0.5.9"}},
        {"count": 16},
    ],
    ids=lambda other: next(iter(other)),
)
def test_another_model_phase_device_or_framework_has_another_start(
    shipped: Workspace, answer: Callable[[int], Answer], other: dict[str, Any]
) -> None:
    mine = plan_of(answer(0)).start
    theirs = plan_of(answered(shipped, {**QUESTIONS[0], **other}, 1)).start
    assert (theirs.settings, theirs.expected) != (mine.settings, mine.expected)


@settings(deadline=None, max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(list(QUESTIONS[-1])), current=st.permutations(list(QUESTIONS[-1]["current"])))
def test_the_order_of_what_is_asked_changes_nothing(
    shipped: Workspace, answer: Callable[[int], Answer], order: list[str], current: list[str]
) -> None:
    asked = {name: QUESTIONS[-1][name] for name in order}
    asked["current"] = {name: QUESTIONS[-1]["current"][name] for name in current}
    again = answered(shipped, asked)
    assert again.to_json() == answer(len(QUESTIONS) - 1).to_json()


def test_fewer_changes_are_the_first_of_more(shipped: Workspace) -> None:
    for less, k in ((3, 5), (6, 8)):  # up to five have a number, or are for what was observed
        more, few = (plan_of(answered(shipped, QUESTIONS[0], number)) for number in (k, less))
        assert few.changes == more.changes[:less]
        listed = [{one.id for one in (*plan.changes, *plan.further)} for plan in (few, more)]
        assert listed[0] == listed[1]
        assert few.start == more.start


def test_what_fits_nowhere_on_these_devices_is_answered_with_the_smallest_that_holds_it(
    shipped: Workspace,
) -> None:
    question = {"model": "deepseek-v3", "phase": "serving", "hardware": "910b3", "count": 1}
    answer = answered(shipped, question)
    plan = plan_of(answer)
    assert not plan.fits
    assert plan.start.fits is False
    assert (plan.changes, plan.start.settings, answer.recommendations) == ((), (), ())
    layout = plan.start.layout
    assert layout is not None
    assert plan_of(answered(shipped, {**question, "count": layout.devices}, 1)).fits
    assert not plan_of(answered(shipped, {**question, "count": layout.devices // 2}, 1)).fits


def test_the_changes_are_the_recommendations(answer: Callable[[int], Answer]) -> None:
    for number in range(len(QUESTIONS)):
        one = answer(number)
        assert [item.id for item in one.recommendations] == [item.id for item in plan_of(one).changes]
        assert "recommendations" not in one.to_json()


def agrees_with_the_cost_model(answer: Answer) -> None:
    """The price of a start is that of its own settings, to the digit."""
    if answer.plan is None or answer.priced is None:
        return
    expected = {item.metric: item.value for item in answer.plan.start.expected}
    assert expected.get("throughput") == price(answer.priced)[0].throughput


def test_a_plan_and_an_estimate_agree(answer: Callable[[int], Answer]) -> None:
    for number in range(len(QUESTIONS)):
        agrees_with_the_cost_model(answer(number))
