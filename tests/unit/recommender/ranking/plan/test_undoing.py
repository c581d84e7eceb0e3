"""A change that a switch in use contradicts takes it back."""

from __future__ import annotations

import pytest

from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from kg.terms.setting_registry import registry
from recommender.ranking.plan.undoing import undoing
from recommender.ranking.plan_change import PlanChange
from recommender.ranking.plan_setting import Origin, PlanSetting

GRAPH = PlanSetting(
    where=SettingPlace.JSON,
    key="compilation_config.cudagraph_mode",
    value="FULL_DECODE_ONLY",
    origin=Origin.RECIPE,
)


def flag(key: str, value: Value = None, origin: Origin = Origin.CURRENT) -> PlanSetting:
    return PlanSetting(where=SettingPlace.FLAG, key=key, value=value, origin=origin)


@pytest.mark.parametrize(
    ("begun", "added"),
    [
        (flag("--enforce-eager"), ["--no-enforce-eager"]),
        (flag("--enforce-eager", value=True), ["--no-enforce-eager"]),
        (flag("--enforce-eager", origin=Origin.RECIPE), []),
        (flag("--enforce-eager", value=False), []),
        (flag("--async-scheduling"), []),
        (flag("--max-num-seqs", value=8), []),
    ],
)
def test_eager_mode_is_taken_back_for_a_graph(begun: PlanSetting, added: list[str]) -> None:
    change = PlanChange(id="a", title="Graph", settings=(GRAPH,))
    found = undoing(change, [begun], "serving", registry("vllm-ascend").at("0.18.0"))
    assert [item.key for item in found] == added
