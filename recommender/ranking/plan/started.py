"""A question as it stands once the start configuration runs: what changes are judged against."""

from collections.abc import Mapping
from dataclasses import replace

from kg.nouns.entities import Problem
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings, Value
from kg.terms.purposes import plain_key
from recommender.applicability.framework import RunningFramework
from recommender.cost_model.priced_step import PricedStep
from recommender.ranking.plan_setting import PlanSetting
from recommender.ranking.start import StartConfiguration
from recommender.ranking.starts.screening import SIXTEEN_BIT


def started(
    problem: Problem,
    start: StartConfiguration,
    framework: RunningFramework,
    priced: Mapping[str, object] | None = None,
    price: PricedStep | None = None,
) -> Problem:
    """The problem once the start runs, with settings by the names that strategies use.

    Args:
        problem: The question.
        start: What runs.
        framework: What launches it.
        priced: Settings of the cost model that the start was priced with: its load and its number format are
            those of the question where it states none.
        price: Of the start: whether its memory is short.
    """
    current: dict[str, Value] = dict(problem.current or {})
    for item in start.settings:
        for name in names_of(item):
            current.setdefault(name, item.value)
    software = {**problem.software, framework.id: framework.version}
    layout = start.layout
    traits = dict(problem.workload.traits)
    if layout is not None:
        traits |= {name: size for name, size in layout.to_json().items() if name not in {*traits, "devices"}}
    keys = {plain_key(item.key) for item in start.settings}
    held = priced or {}
    if "quantization" in keys:
        traits.setdefault("quantised", True)
    if str(problem.workload.kind) == "serving":  # nothing is drafted, or split, that the start does not
        if "precision" in held:
            traits.setdefault("quantised", str(held["precision"]) not in SIXTEEN_BIT)
        batch, copies = held.get("batch"), held.get("data_parallel", 1)
        if isinstance(batch, int | float) and isinstance(copies, int | float):
            traits.setdefault("concurrency", int(batch * copies))
        traits.setdefault("speculative", any(key.startswith("speculative") for key in keys))
        traits.setdefault("role", "mixed")
        traits.setdefault("disaggregated", traits["role"] != "mixed")
    elif price is not None and price.capacity_bytes is not None:
        is_full = price.memory_bytes > 0.9 * price.capacity_bytes  # within the error of the price; a choice
        traits.setdefault("memory_short", is_full or held.get("recompute") == "full")
    return replace(
        problem,
        current=Settings(current),
        software=Settings(software),
        workload=replace(problem.workload, traits=Settings(traits)),
    )


def names_of(item: PlanSetting) -> tuple[str, ...]:
    """The names under which strategies know a setting: a flag without dashes, a field without its carrier."""
    if item.where is SettingPlace.JSON:
        path = item.name.partition(".")[2]
        return (path, path.rpartition(".")[2])
    return (item.name,)
