"""Foundations of a start and its gaps: facts, memory, runs, recipes, assumptions."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from kg.errors import InputError, MissingFactError
from kg.nouns.entities import Problem
from kg.nouns.knowledge import Model
from kg.nouns.layout import ParallelLayout
from kg.nouns.recipe import Authority, Recipe
from kg.nouns.situation import StatedFact
from kg.nouns.values import Value, show
from kg.terms.purposes import plain_key
from kg.triples.hardware_tree import HardwareTree
from recommender.applicability.question_facts import table_bytes
from recommender.cost_model.assumed import ADMITTED, assumed_by_price
from recommender.cost_model.layout_domain import fullest
from recommender.cost_model.priced_step import PricedStep, price
from recommender.cost_model.settings.engine_defaults import trainers
from recommender.cost_model.settings.plans import PHASES
from recommender.cost_model.workloads.memory_fit import USABLE_MEMORY, least_bytes
from recommender.ranking.feasibility.server_fit import experts_on_host, server_fit
from recommender.ranking.feasibility.training_fit import activations_beyond, states_beyond
from recommender.ranking.layout_question import LIMITED, LayoutQuestion
from recommender.ranking.measured.best_case import describe_run
from recommender.ranking.measured.measured_run import MeasuredRun
from recommender.ranking.paste import shell_word
from recommender.ranking.plan_setting import PlanSetting
from recommender.ranking.start import OFFICIAL
from recommender.ranking.starts.draft import StartDraft
from recommender.ranking.starts.layout_choice import ChosenLayout, degrees, likeness
from recommender.ranking.starts.layout_options import USUAL_TPOT_S, arriving
from recommender.ranking.starts.recipes.agreement import differences
from recommender.ranking.starts.situation import StartSituation

SHOWN = 3
"""Settings of an official configuration that a line names."""
TELLING = 0.1
"""Weight from which a recipe is named among the reasons; a choice."""
ALIKE = 0.5
"""Likeness of layouts from which a recipe is taken to speak for one: less than a doubling apart; a choice."""
NOTICEABLE = 0.9
"""Doubt below which it is said that measured runs correct a price; a choice."""
_OF_DRAFTS = ("speculative_tokens", "draft_steps", "draft_method")


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
    is_elsewhere = bool(table_bytes(sizes)) or experts_on_host(situation.current or {})  # may lie on the host
    if is_elsewhere or not (isinstance(memory, int | float) and isinstance(parameters, int | float)):
        return 0.0, 0.0, ""
    precision = situation.problem.workload.precision or str(sizes.get("weight_format") or "16 bit")
    return least_bytes(parameters, precision), float(memory), precision


def beyond_memory(situation: StartSituation, sizes: Mapping[str, Value], tree: HardwareTree) -> str:
    """A sentence if the weights alone exceed the memory of all devices, whatever runs them; else empty."""
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
    """A note if the embedding tables are larger than the memory of all devices; else nothing."""
    memory, devices = tree.facts(problem.hardware.name).get("memory_bytes"), problem.hardware.count or 1
    needed = table_bytes(sizes)
    if not isinstance(memory, int | float) or needed <= devices * memory:
        return []
    lack = f"the embedding tables take {needed / 1e9:,.0f} GB, and {known_of(problem, None, tree)}"
    return [f"{lack}: keep rows in the host's memory, or take {math.ceil(needed / memory):,} devices"]


def is_judged(query: LayoutQuestion) -> bool:
    """True if the memory of a device is known: a program may shard a model in ways not modelled here."""
    is_known = query.splits or query.question.engine in trainers()
    return is_known or not query.question.model.layers or query.question.machine.count == 1


def why_not_judged(situation: StartSituation, query: LayoutQuestion) -> str:
    """The reason to withhold "does not fit": memory is not modelled, or a script is kept."""
    if not is_judged(query):
        return f"what each device holds under {situation.framework.id} is not modelled: memory is not checked"
    if not is_believed(situation, query):
        return ""
    if situation.is_training:
        return (
            "by the memory model it does not fit, but your script is kept: if it runs, shorter lengths"
            " (--shape) may be why"
        )
    less = f" in the {query.usable:.0%} of the memory that it takes" if query.usable < USABLE_MEMORY else ""
    return (
        f"by the memory model it does not fit{less}, but your script is kept: if it runs, narrower weights"
        " (--precision), shorter lengths (--shape) or fewer requests (--trait concurrency=N) may be why"
    )


def is_believed(situation: StartSituation, query: LayoutQuestion) -> bool:
    """True if a script counts as running although no layout fits: not what surely cannot start."""
    current: Mapping[str, Value] = situation.current or {}
    if situation.is_training:
        has_files = any(str(value).endswith((".json", ".yaml", ".yml")) for value in current.values())
        is_refused = states_beyond(query.question, query.degrees) and not has_files  # which may offload
        is_told = "seq_len" in situation.problem.workload.shape
        is_refused = is_refused or (is_told and activations_beyond(query.question))
    else:
        fit = server_fit(query.question, current, situation.framework.id)
        is_refused = fit is not None and fit.is_sure and not fit.starts
    return situation.problem.situation.has_script and not is_refused


def assumed_by(chosen: ChosenLayout, draft: StartDraft) -> list[StatedFact]:
    """Facts that the price of a layout assumes, where the question leaves them open."""
    question, situation = draft.question, draft.situation
    if question is None or chosen.option.log_merit is None:
        return []
    priced = {**chosen.option.settings, **chosen.option.layout.degrees()}
    stated = {*situation.facts} if situation.at_once is None else {*situation.facts, "concurrency"}
    drafts = {name: question.settings[name] for name in _OF_DRAFTS if name in question.settings}
    is_limited = any(limit.metric in LIMITED for limit in situation.problem.limits)
    best = "keeps the limits" if is_limited and not chosen.option.beyond_limits else "fits"
    best = ADMITTED if draft.roomier is not None else f"the best that {best}"
    is_open = draft.query is not None and draft.query.is_load_open
    if is_open and chosen.option.results.get("tpot_s", math.inf) <= USUAL_TPOT_S:
        best = f"the best within {USUAL_TPOT_S * 1e3:.0f} ms a token"
    if draft.query is not None and (wanted := arriving(draft.query)) and situation.at_once is None:
        rate = f"{float(str(question.settings['request_rate'])):g} requests a second"
        is_enough = chosen.option.results.get("throughput", 0.0) >= wanted
        best = f"the fewest that carry {rate}" if is_enough else f"which do not carry {rate}"
    return list(assumed_by_price(question, {**priced, **drafts}, stated, load=draft.load, best=best))


def overload_note(draft: StartDraft, chosen: ChosenLayout) -> str:
    """The question to ask of a rate that the devices do not carry; empty where they do, or none is told."""
    problem, query = draft.situation.problem, draft.query
    if query is None or chosen.option.results.get("throughput", math.inf) >= arriving(query):
        return ""
    shape = {**problem.workload.shape, "request_rate": None}
    rate = f"{float(str(query.question.settings['request_rate'])):g}"
    words = ["--model", str(problem.workload.model), "--phase serving", "--hardware", problem.hardware.name]
    if form := problem.workload.precision:
        words += ["--precision", form]
    for name, version in problem.software.items():
        words += ["--software", shell_word(f"{name}={show(version)}" if version else name)]
    if lengths := ",".join(f"{name}={show(size)}" for name, size in shape.items() if size is not None):
        words += ["--shape", lengths]
    for limit in problem.limits:
        words += ["--limit", shell_word(f"{limit.metric}<={limit.maximum:g}{limit.unit}")]
    return (
        f"{rate} requests a second are more than is carried: they wait without end, and no limit on times is "
        f"kept; what carries them: tunegraph size {' '.join(words)} --rate {rate}/s"
    )


def memory_line(option: PricedStep, memory_bytes: float) -> str:
    """The memory of each device that a layout takes, in a sentence."""
    said = f"memory: {memory_bytes / 1e9:.0f} GB of each device"
    batch = option.settings.get("batch")
    if isinstance(batch, int | float):
        said += f" at {batch:.0f} sequence{'' if round(batch) == 1 else 's'} an engine"
    return said


def because(draft: StartDraft, chosen: ChosenLayout | None, runs: Sequence[MeasuredRun]) -> list[str]:
    """Measured runs, memory and recipes that speak for a layout, a sentence each."""
    lines = [describe_run(runs[0], len(draft.measured))] if runs else []
    if not runs and chosen is not None and chosen.option.doubt < NOTICEABLE:
        number = len(draft.measured)
        lines.append(f"corrected by {number} measured run{'s' if number > 1 else ''} of this model near by")
    if chosen is not None:
        lines.append(memory_line(chosen.option, chosen.option.memory_bytes))
        share = f"{chosen.agreement:.0%}"
        if draft.weighed and share != "0%":
            lines.append(f"{share} of the official recipes for such cases divide it so")
    near = [one for one in draft.weighed if one.weight / one.reliability >= TELLING and not one.is_foreign]
    for one in near[:3]:
        tested = "" if one.reliability == 1 else f" ({one.reliability:.1g} of it after tests)"
        weight = one.weight / one.reliability
        lines.append(f"nearest recipe {one.recipe.id}, weight {weight:.0%}{tested} <{one.recipe.source.url}>")
    return lines


def page_of(draft: StartDraft, devices: int) -> Recipe | None:
    """The official recipe of this very case: this model on so many of these devices, the heaviest."""
    situation = draft.situation
    return next(
        (
            one.recipe
            for one in draft.weighed
            if one.recipe.authority is not Authority.THIRD_PARTY
            and one.recipe.hardware in situation.hardware[:-1]
            and (one.recipe.model, one.recipe.devices) == (situation.model.id, devices)
        ),
        None,
    )


def official(
    draft: StartDraft,
    chosen: ChosenLayout | None,
    layout: ParallelLayout | None,
    settings: Sequence[PlanSetting],
) -> Iterator[str]:
    """Differences from the page of this very case: this model on so many of these devices."""
    reasons = {item.strategy: item.because for item in draft.refused}
    if layout is not None and (recipe := page_of(draft, layout.devices)) is not None:
        other = differences(recipe, {plain_key(item.key): item.value for item in settings})
        of_it = [
            (f"{key} {value}".strip(), reason if (reason := reasons.get(key, "")) != "unknown" else "")
            for key, value in other.items()
            if "is the default of" not in reasons.get(key, "")
        ]
        said = [(text, "") for text in _divided_otherwise(draft, chosen, recipe)] + of_it
        more = f" and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
        shown = [
            ", ".join(text for text, _ in group) + (f" (not here: {reason})" if reason else "")
            for reason, group in groupby(said[:SHOWN], key=lambda one: one[1])
        ]
        says = f"has other settings: {', '.join(shown)}{more}" if said else "has the same settings"
        yield f"{OFFICIAL} {says} <{recipe.source.url}>"


def _divided_otherwise(draft: StartDraft, chosen: ChosenLayout | None, recipe: Recipe) -> Iterator[str]:
    """The layout of a recipe that is not that of the start, and how fast it is beside it on the same load."""
    sizes, question = degrees(recipe), draft.question
    other = ParallelLayout.from_json(sizes)
    if chosen is None or question is None or not recipe.layout or other.devices != recipe.devices:
        return
    mine, theirs = ((one.tensors, one.pp, one.ep > 1) for one in (chosen.option.layout, other))
    if mine == theirs:
        return
    batch = float(str(chosen.option.settings.get("batch", 1))) * chosen.option.layout.dp / other.dp
    row = {**chosen.option.settings, **other.degrees(PHASES[question.phase])}
    row |= {"batch": max(batch, 1.0)} if "batch" in row else {}
    try:
        [step] = price(replace(question, model=fullest(question.model, other)), [row])
    except (InputError, MissingFactError):
        yield str(other)
        return
    is_told = step.fits is not False and chosen.option.throughput
    ratio = step.throughput / chosen.option.throughput if is_told else math.nan
    yield f"{other} ({ratio:.2f}x)" if math.isfinite(ratio) else str(other)


def recipes_behind(draft: StartDraft, chosen: ChosenLayout | None) -> tuple[str, ...]:
    """The recipes that a start rests on: the weightiest of those that divide the work much as it does."""
    training = draft.situation.is_training
    alike = [
        one.recipe.id
        for one in draft.weighed
        if one.weight >= TELLING
        and (
            chosen is None
            or likeness(chosen.option.layout, one, draft.situation.model, training=training) >= ALIKE
        )
    ]
    nearest = [chosen.nearest.id] if chosen is not None and chosen.nearest is not None else []
    return tuple(dict.fromkeys([*alike[:3], *nearest]))
