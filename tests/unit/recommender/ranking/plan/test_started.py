"""A question once its start runs."""

import pytest

from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings
from recommender.applicability.framework import RunningFramework
from recommender.cost_model.priced_step import PricedStep
from recommender.ranking.plan.started import names_of, started
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.start import StartConfiguration
from tests.unit.recommender.ranking.starts.situations import problem

FRAMEWORK = RunningFramework(id="vllm", version="0.18.0")


def setting(key: str, value: object = True, where: SettingPlace = SettingPlace.FLAG) -> PlanSetting:
    return PlanSetting(where=where, key=key, value=value, origin=Origin.RECIPE)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("item", "names"),
    [
        (setting("--max-num-seqs"), ("max_num_seqs",)),
        (setting("MY_ENV", where=SettingPlace.ENV), ("MY_ENV",)),
        (setting("cfg.inner.fused", where=SettingPlace.JSON), ("inner.fused", "fused")),
        (setting("training.lr", where=SettingPlace.YAML), ("training.lr",)),
    ],
)
def test_a_setting_goes_by_the_names_that_strategies_use(item: PlanSetting, names: tuple[str, ...]) -> None:
    assert names_of(item) == names


def test_what_the_start_sets_is_current_and_what_runs_now_wins() -> None:
    start = StartConfiguration(settings=(setting("--max-num-seqs", 64), setting("--block-size", 32)))
    now = started(problem(current={"max_num_seqs": 16}), start, FRAMEWORK)
    assert now.current == Settings({"max_num_seqs": 16, "block_size": 32})
    assert now.software == Settings({"vllm": "0.18.0"})


def test_the_layout_is_known_and_a_stated_size_wins() -> None:
    start = StartConfiguration(layout=ParallelLayout(tp=2, dp=4))
    traits = started(problem(), start, FRAMEWORK).workload.traits
    assert (traits["tp"], traits["dp"], traits["pp"]) == (2, 4, 1)
    assert "devices" not in traits


def test_nothing_is_drafted_or_quantised_that_the_start_does_not() -> None:
    plain = started(problem(), StartConfiguration(), FRAMEWORK).workload.traits
    assert (plain["speculative"], plain["disaggregated"], "quantised" in plain) == (False, False, False)
    item = setting("speculative_config.method", "mtp", SettingPlace.JSON)
    drafting = StartConfiguration(settings=(item, setting("--quantization", "ascend")))
    traits = started(problem(), drafting, FRAMEWORK).workload.traits
    assert (traits["speculative"], traits["quantised"]) == (True, True)


@pytest.mark.parametrize(
    ("held", "recompute", "short"), [(30e9, "none", False), (60e9, "none", True), (30e9, "full", True)]
)
def test_memory_is_short_where_it_is_nearly_full_or_the_start_recomputes(
    held: float, recompute: str, short: bool
) -> None:
    price = PricedStep(layout=ParallelLayout(), memory_bytes=held, capacity_bytes=64e9)
    now = started(problem(phase="training"), StartConfiguration(), FRAMEWORK, {"recompute": recompute}, price)
    assert now.workload.traits["memory_short"] is short
    told = started(problem(phase="training"), StartConfiguration(), FRAMEWORK, {"recompute": recompute})
    assert "memory_short" not in told.workload.traits
