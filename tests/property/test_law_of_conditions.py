"""Law 12: a strategy is not refused by what it sets itself, in any release that has its settings."""

import pytest

from kg.nouns.knowledge import Strategy
from kg.nouns.values import Value
from kg.terms.setting_conflicts import companions
from kg.terms.setting_registry import registry, softwares
from kg.triples.serialisation import all_of
from recommender.workspace.workspace import Workspace

RUNNING: dict[str, dict[str, Value]] = {
    'role == "': {"kv_transfer_config.kv_role": "kv_consumer"},
    "experts > 0": {"--n-shared-experts": 1},
    "ep > 1": {"--ep-size": 8},
    '== "alltoall_seq"': {"--moe-token-dispatcher-type": "alltoall_seq"},
}
"""Running settings under which a condition of a strategy holds, by the text of the condition."""


def settings_of(strategy: Strategy) -> dict[str, Value]:
    """Settings of a strategy, by the keys of the registry."""
    return {one.key: True if one.value is None else one.value for one in strategy.sets}


@pytest.fixture(scope="module")
def strategies(shipped: Workspace) -> list[Strategy]:
    """Those that set something."""
    return [one for one in all_of(shipped.graph, Strategy) if one.sets]


@pytest.mark.parametrize("each", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("software", softwares())
def test_no_strategy_refuses_itself(strategies: list[Strategy], software: str, each: bool) -> None:
    refused = []
    names = list(registry(software).releases)
    few = dict.fromkeys((names[0], names[len(names) // 2], names[-1]))
    releases = [registry(software).at(name) for name in (names if each else few)]
    for strategy in strategies:
        change = settings_of(strategy)
        conditions = " ".join(clause.condition for clause in strategy.applies_when)
        runs = {
            key: value
            for words, held in RUNNING.items()
            if words in conditions
            for key, value in held.items()
        }
        for release in releases:
            if not all(release.look_up(key, suggest=False).usable for key in change):
                continue
            if companions(release, runs, change) is None:
                refused.append(f"{strategy.id} in {software} {release.release}")
    assert not refused, refused[:10]
