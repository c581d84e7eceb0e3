"""What a start rests on and what it cannot say: known facts, memory that weights alone fill, assumptions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from recommender.applicability.question_facts import table_bytes
from recommender.cost_model.assumed import assumed_by_price
from recommender.cost_model.settings.engine_defaults import trainers
from recommender.cost_model.workloads.memory_fit import least_bytes
from recommender.ranking.starts.layout_options import LIMITED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.entities import Problem
    from kg.nouns.knowledge import Model
    from kg.nouns.situation import StatedFact
    from kg.nouns.values import Value
    from kg.triples.hardware_tree import HardwareTree
    from recommender.ranking.starts.draft import StartDraft
    from recommender.ranking.starts.layout_choice import ChosenLayout
    from recommender.ranking.starts.layout_options import LayoutQuestion
    from recommender.ranking.starts.situation import StartSituation


def known_of(problem: Problem, model: Model | None, tree: HardwareTree) -> str:
    """Parameters of the model and memory of the devices, as far as they are known."""
    facts = {fact.name: fact.value for fact in model.facts} if model is not None else {}
    parts, held = [], facts.get("parameters")
    if isinstance(held, int | float):
        parts.append(f"{held / 1e9:,.1f} billion parameters take {2 * held / 1e9:,.0f} GB in 16 bit")
    memory = tree.facts(problem.hardware.name).get("memory_bytes")
    if isinstance(memory, int | float):
        count = problem.hardware.count or 1
        parts.append(f"{count} x {problem.hardware.name} hold {count * memory / 1e9:,.0f} GB")
    return "; ".join(parts) or "neither is its model"


def weights_of(
    situation: StartSituation, sizes: Mapping[str, Value], tree: HardwareTree
) -> tuple[float, float, str]:
    """Bytes of the weights and of a device's memory, and the number format; zeros where one is not known."""
    memory = tree.facts(situation.hardware[0]).get("memory_bytes") if situation.hardware else None
    parameters = sizes.get("parameters")
    if not (isinstance(memory, int | float) and isinstance(parameters, int | float)) or table_bytes(sizes):
        return 0.0, 0.0, ""  # embedding tables may lie on the host
    precision = situation.problem.workload.precision or str(sizes.get("weight_format") or "16 bit")
    return least_bytes(parameters, precision), float(memory), precision


def beyond_memory(situation: StartSituation, sizes: Mapping[str, Value], tree: HardwareTree) -> str:
    """Why the weights alone fill more than all devices have, whatever runs them; empty where they do not."""
    needed, memory, precision = weights_of(situation, sizes, tree)
    devices = situation.devices
    if not devices or needed <= devices * memory:
        return ""
    where = f"{devices} x {situation.hardware[0]}"
    return (
        f"{float(str(sizes['parameters'])) / 1e9:,.1f} billion parameters in {precision} take"
        f" {needed / 1e9:,.0f} GB, and {where} hold {devices * memory / 1e9:,.0f} GB:"
        f" at least {math.ceil(needed / memory):,} devices"
    )


def tables_beyond_memory(problem: Problem, sizes: Mapping[str, Value], tree: HardwareTree) -> list[str]:
    """That the embedding tables are larger than the memory of all devices; nothing where they are not."""
    memory, devices = tree.facts(problem.hardware.name).get("memory_bytes"), problem.hardware.count or 1
    needed = table_bytes(sizes)
    if not isinstance(memory, int | float) or needed <= devices * memory:
        return []
    lack = f"the embedding tables take {needed / 1e9:,.0f} GB, and {known_of(problem, None, tree)}"
    return [f"{lack}: keep rows in the host's memory, or take {math.ceil(needed / memory):,} devices"]


def is_judged(asked: LayoutQuestion) -> bool:
    """Whether it is known what a device holds: a program may shard a model where nothing here models it."""
    is_known = asked.splits or asked.question.engine in trainers()
    return is_known or not asked.question.model.layers or asked.question.machine.count == 1


def why_not_judged(situation: StartSituation, asked: LayoutQuestion) -> str:
    """Why "does not fit" cannot be said: the program's memory is not modelled, or a script says it runs."""
    if not is_judged(asked):
        return f"what each device holds under {situation.framework.id} is not modelled: memory is not checked"
    if situation.problem.situation.has_script:
        return (
            "by the memory model it does not fit, but your script says that it runs: narrower weights"
            " (--precision), shorter lengths (--shape) or fewer requests (--trait concurrency=N) may be why"
        )
    return ""


def assumed_by(chosen: ChosenLayout, draft: StartDraft) -> list[StatedFact]:
    """What the price of a layout stands for, where the question leaves it open."""
    question, situation = draft.question, draft.situation
    if question is None or chosen.option.log_merit is None:
        return []
    priced = {**chosen.option.settings, **chosen.option.layout.degrees()}
    told = {*situation.facts} if situation.at_once is None else {*situation.facts, "concurrency"}
    drafts = {name: question.settings[name] for name in ("speculative_tokens",) if name in question.settings}
    is_limited = any(limit.metric in LIMITED for limit in situation.problem.limits)
    best = "keeps the limits" if is_limited and not chosen.option.beyond_limits else "fits"
    return list(assumed_by_price(question, {**priced, **drafts}, told, load=draft.load, best=best))
