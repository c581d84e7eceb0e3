"""Layouts of a model on a number of devices: which fit, and how fast each is on the cost model."""

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kg.errors import MissingFactError
from kg.nouns.entities import Limit, Problem
from kg.nouns.gain import NORMAL_90
from kg.nouns.layout import DEGREES, ParallelLayout
from kg.nouns.situation import StatedFact
from kg.terms.metrics import priced_as
from recommender.cost_model.assumed import assumed_whole_step
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.layout_domain import (
    fewer_devices,
    fullest,
    more_devices,
)
from recommender.cost_model.priced_step import PricedStep, price
from recommender.cost_model.question import Question
from recommender.cost_model.settings.engine_defaults import replicated_by
from recommender.cost_model.settings.plans import CHOICES, PHASES, LayoutError
from recommender.cost_model.workloads.memory_fit import least_bytes, memory_bytes
from recommender.cost_model.workloads.serving_flow import (
    MOST_REPLAYED,
    MOST_USERS,
    engines_replayed,
)
from recommender.ranking.change import LEAST_LOG_GAIN, LEAST_SHOWN
from recommender.ranking.layout_question import LIMITED, LayoutQuestion, batches, on_devices
from recommender.ranking.start import ExpectedValue

Floats = NDArray[np.float64]

EIGHT_BITS = ("fp8", "int8")
SAMPLES_OF_ADAPTERS = 128.0
"""Samples of a step of adapters at most where none are told (Hu et al., LoRA, 2021, appendix D: GPT-3)."""
USUAL_TPOT_S = 0.2
"""Time of a token that a server keeps where nothing is said: MLPerf Inference, server, Llama-2-70B."""
IN_VAIN = 0.5
"""What a training that does not fit costs, in nats of what it would bring: another start; a choice."""

_SHOWN = ("throughput", "tpot", "ttft")


def layout_options(query: LayoutQuestion) -> list[PricedStep]:
    """Layouts that fit the memory, each with its best batch, best first; those within limits before others.

    Raises:
        MissingFactError: Sizes of the model are unknown, or the memory of the device.
    """
    options = list(priced_options(query))
    if query.question.phase != "training" and any(limit.metric in LIMITED for limit in query.limits):
        options = _within(query, options)
    loads: dict[ParallelLayout, list[PricedStep]] = defaultdict(list)
    for option in options:
        loads[option.layout].append(option)
    best = [_least(query, found) for found in loads.values()]
    return sorted(_of_load(query, best), key=_order)


def _least(query: LayoutQuestion, options: Sequence[PricedStep]) -> PricedStep:
    """The best option of a layout, or one that is as fast with fewer requests or less that is shared out."""
    best = min(options, key=partial(_best, query))
    if query.question.phase != "training" or best.log_merit is None:
        return _least_load(query, best, options)
    top = _best(query, best)
    near = [one for one in options if _best(query, one)[:2] == top[:2]]
    near = [one for one in near if _best(query, one)[2] <= top[2] + LEAST_SHOWN]
    return min(near, key=lambda one: (float(str(one.settings.get("zero_stage", 0))), *_best(query, one)))


def _least_load(query: LayoutQuestion, best: PricedStep, options: Sequence[PricedStep]) -> PricedStep:
    """The least load of a server that is as fast as the best: beyond it requests only wait for each other.

    As fast is what differs by less than counts as a gain. A load that nothing says keeps ``USUAL_TPOT_S``,
    or is the least. What answers with a vector lets in what fits: its requests are of any length.
    """
    if not query.answers_in_tokens or query.is_load_told or best.log_merit is None:
        return best
    rated = [one for one in options if one.beyond_limits <= best.beyond_limits and one.log_merit is not None]
    if query.is_load_open:
        usual = [one for one in rated if one.results.get("tpot_s", 0.0) <= USUAL_TPOT_S]
        rated = usual or [min(rated, key=_requests)]
    top = max(one.log_merit or -math.inf for one in rated)
    return min((one for one in rated if (one.log_merit or 0.0) >= top - LEAST_LOG_GAIN), key=_requests)


def _requests(option: PricedStep) -> float:
    """Requests of each engine."""
    return float(str(option.settings.get("batch", 1)))


def _within(query: LayoutQuestion, options: Sequence[PricedStep]) -> list[PricedStep]:
    """The options, with those replayed that tell the largest load of each layout within limits on times.

    Only the best of many configurations are replayed, and closed forms see limits kept that are not. More
    requests make no time shorter, so that halves tell.
    """
    found = list(options)
    open_: dict[ParallelLayout, list[int]] = defaultdict(list)
    for at, option in enumerate(options):
        if not option.beyond_limits and option.log_merit is not None:
            open_[option.layout].append(at)
    asked = [sorted(places, key=lambda at: _requests(options[at])) for places in open_.values()]
    while asked := [places for places in asked if places]:
        middles = [places[len(places) // 2] for places in asked]
        steps = replayed(query, [options[at] for at in middles])
        for turn, (at, step) in enumerate(zip(middles, steps, strict=True)):
            places = asked[turn]
            found[at], more = step, places[len(places) // 2 + 1 :]
            if beyond := step.beyond_limits:
                for other in more:
                    found[other] = replace(found[other], beyond_limits=beyond)
            asked[turn] = places[: len(places) // 2] if beyond else more
    return found


def replayed(query: LayoutQuestion, options: Sequence[PricedStep]) -> list[PricedStep]:
    """Options of a server, each priced so that it is replayed."""
    alike: dict[tuple[ModelSizes, int], list[int]] = defaultdict(list)
    users: dict[ModelSizes, float] = defaultdict(float)
    for at, option in enumerate(options):
        held = fullest(query.question.model, option.layout)
        layout = option.layout
        waiting = float(str(query.question.settings.get("concurrency", 0))) / layout.dp
        each = max(_requests(option), waiting) / layout.pp
        own = max(each * float(engines_replayed(each, layout.dp * layout.pp)), MOST_USERS / MOST_REPLAYED)
        users[held] += own
        alike[held, int((users[held] - own) // MOST_USERS)].append(at)  # no more than one price replays
    found = list(options)
    for (held, _), places in alike.items():
        rows = [{**options[at].layout.degrees(PHASES["serving"]), **options[at].settings} for at in places]
        for at, step in zip(places, price(replace(query.question, model=held), rows), strict=True):
            found[at] = replace(
                options[at],
                results=step.results,
                spread=step.spread,
                log_merit=_merit(query, step.results),
                beyond_limits=missed(query.limits, step),
            )
    return found


def priced_options(query: LayoutQuestion) -> Iterator[PricedStep]:
    """Every layout that fits the memory, with each batch that is tried."""
    model, training = query.question.model, query.question.phase == "training"
    alike: dict[ModelSizes, list[dict[str, float]]] = defaultdict(list)
    for layout in query.domain.layouts():
        degrees = layout.degrees()
        if not training:
            degrees.pop("context_parallel")
        alike[fullest(model, layout)] += [{**degrees, **row} for row in batches(query, layout.dp)]
    for held, rows in alike.items():
        yield from _priced(query, rows, held)


def _of_load(query: LayoutQuestion, options: list[PricedStep]) -> list[PricedStep]:
    """The layouts whose engines all have a request, where there are such; each is priced as if it had.

    Of a load that is told and must keep times, those that run it whole: what waits is in no limit on a token.
    """
    if query.question.phase == "training" or not query.concurrency:
        return options
    busy = [option for option in options if option.layout.dp <= query.concurrency] or options
    if not (query.is_load_told and any(limit.metric in LIMITED for limit in query.limits)):
        return busy
    load = query.concurrency
    whole = [one for one in busy if _requests(one) * one.layout.dp >= load]
    return whole or busy


def roomier(query: LayoutQuestion, option: PricedStep) -> PricedStep | None:
    """A layout with more requests at once than the launch admits; None where that is no better."""
    most = query.most_of(option.layout.dp)
    if not most or option.settings.get("batch") != most:
        return None
    if query.is_load_told and (query.concurrency or 0.0) <= most * option.layout.dp:
        return None
    free = replace(query, most_of_engine=None, degrees=option.layout.degrees())
    best = next((one for one in layout_options(free) if one.layout == option.layout), None)
    return best if best is not None and _requests(best) > most else None


def smallest_fit(query: LayoutQuestion) -> PricedStep | None:
    """The layout on the fewest devices that holds the model, in steps of servers; None up to ``LARGEST``.

    A step keeps no more copies busy than it has samples.
    """
    most = most_copies(query.question)
    for count in more_devices(query.question.machine.count):
        for option in layout_options(on_devices(query, count)):
            if option.layout.dp <= most:
                return option
    return None


def most_copies(question: Question) -> float:
    """The samples of a step, as far as they are told or usual: adapters have fewer than whole models."""
    if question.phase != "training":
        return math.inf
    usual = SAMPLES_OF_ADAPTERS if question.settings.get("lora_rank") else math.inf
    return float(str(question.settings.get("global_batch") or usual))


def on_fewer_devices(query: LayoutQuestion) -> LayoutQuestion | None:
    """The question for the most of its devices that the model divides over; None if none do."""
    question = query.question
    device = question.machine.device
    precision = str(question.settings.get("precision", device.sixteen_bit))
    least = least_bytes(question.model.parameters, precision) / device.memory_capacity
    fewer = [count for count in fewer_devices(question.machine.count) if not count < least]
    return next((one for one in (on_devices(query, n) for n in fewer) if layout_options(one)), None)


def narrower_fit(query: LayoutQuestion) -> tuple[str, PricedStep] | None:
    """The widest narrower number format in which a served model fits its devices, and the layout."""
    question = query.question
    if question.phase == "training":
        return None
    device = question.machine.device
    now = least_bytes(1.0, str(question.settings.get("precision", device.sixteen_bit)))
    for name in (*EIGHT_BITS, "w4a8" if device.ascend else "w4a16"):
        if device.computed_precision(name) == name and least_bytes(1.0, name) < now:
            settings = {**question.settings, "precision": name}
            if options := layout_options(replace(query, question=replace(question, settings=settings))):
                return name, options[0]
    return None


def with_room(
    query: LayoutQuestion, held: Collection[str]
) -> tuple[LayoutQuestion, list[PricedStep], list[StatedFact]]:
    """The layouts that fit; where none does, those of the same question without the settings it holds.

    With them what is assumed for it: a trainer that replicates the model then accumulates no gradients, as it
    does until it is told to.
    """
    question, options = query.question, layout_options(query)
    is_told = "global_batch" in question.settings or replicated_by(question.engine, question.settings) is None
    whole = {} if question.phase != "training" or is_told else {"global_batch": 0}
    if options or not (held or whole):
        return query, options, []
    kept = {name: value for name, value in question.settings.items() if name not in held}
    free = replace(query, question=replace(question, settings=kept | whole))
    options = layout_options(free)
    return free, options, [assumed_whole_step()] if whole and options else []


def _best(query: LayoutQuestion, option: PricedStep) -> tuple[float, ...]:
    """Sort key of the batches of one layout: a stated load runs whole, as far as it fits."""
    batch = option.settings.get("batch")
    at_once = float(str(batch)) if query.is_load_told and batch is not None else 0.0
    if query.question.phase == "training" and option.log_merit is not None:  # recipes fill devices, too
        option = replace(option, log_merit=option.log_merit - IN_VAIN * (1 - option.chance_to_fit))
    return (-at_once, *_order(option))


def _order(option: PricedStep) -> tuple[float, float, int, int, int]:
    layout = option.layout
    merit = -math.inf if option.log_merit is None else option.log_merit
    return (option.beyond_limits, -merit, layout.pp, layout.cp, layout.tp)


def _priced(query: LayoutQuestion, rows: list[dict[str, float]], model: ModelSizes) -> Iterator[PricedStep]:
    question = query.question
    configurations = [{**question.settings, **_spelt(row)} for row in rows]
    held: dict[str, Floats] = {}
    while configurations:
        try:
            held = memory_bytes(
                model, question.phase, configurations, question.machine.count,
                engine=question.engine, reserved=question.machine.device.reserved_bytes,
            )  # fmt: skip
            break
        except LayoutError as fault:
            kept = np.nonzero(fault.holds)[0]
            rows, configurations = [rows[i] for i in kept], [configurations[i] for i in kept]
    if not configurations:
        return
    if question.phase != "training" and "kv_cache" in held:
        held = {**held, "kv_cache": held["kv_cache"] / query.cache_share}
    needed = np.asarray(sum(held.values()))
    capacity = question.machine.device.memory_capacity
    if question.phase != "training":
        capacity *= query.usable
    capacity = min([capacity, *(limit.maximum for limit in query.limits if limit.metric == "peak_memory")])
    is_beyond = (needed > capacity) | (np.asarray(held.get("kv_cache", 0.0)) > query.cache_bytes)
    fitting = np.nonzero(~is_beyond)[0]
    if not len(fitting):
        return
    chosen = [configurations[i] for i in fitting]
    held_by = question.machine.device.memory_capacity
    layouts = [ParallelLayout.of_degrees(rows[i]) for i in fitting]
    priced = _prices(replace(question, model=model), chosen, layouts)
    for step, layout, i in zip(priced, layouts, fitting, strict=True):
        settings = {name: value for name, value in _spelt(rows[i]).items() if name not in DEGREES.values()}
        yield replace(
            step,
            layout=layout,
            settings=settings,
            log_merit=_merit(query, step.results),
            beyond_limits=missed(query.limits, step),
            memory_bytes=float(needed[i]),
            capacity_bytes=held_by if math.isfinite(held_by) else None,
        )


def _prices(
    question: Question, configurations: Sequence[Mapping[str, object]], layouts: Sequence[ParallelLayout]
) -> list[PricedStep]:
    """The prices of configurations; of servers none for a layout alone that needs a fact which is missing.

    A step of training exchanges between servers in most layouts: those that do not are not the best for it.
    """
    try:
        return price(question, configurations)
    except MissingFactError:
        if question.phase == "training" or len({*layouts}) == 1:
            return [PricedStep(layout=layouts[0]) for _ in configurations]
    pairs = itertools.groupby(zip(layouts, configurations, strict=True), key=lambda pair: pair[0])
    groups = [(layout, [one for _, one in group]) for layout, group in pairs]
    return [step for layout, group in groups for step in _prices(question, group, [layout])]


def _merit(query: LayoutQuestion, results: Mapping[str, float]) -> float | None:
    name = LIMITED.get(query.objective)
    if query.objective in {"step_time", "time_to_train"}:
        name = "step_time_s"
    if name is None:
        value = results.get("throughput")
        if (wanted := arriving(query)) and value:  # no more is made than is asked for
            value = min(value, wanted)
        return math.log(value) if value and value > 0 else None
    value = results.get(name)
    return -math.log(value) if value and value > 0 and math.isfinite(value) else None


def arriving(query: LayoutQuestion) -> float:
    """Tokens a second that the requests of a told rate ask for; 0 where none is told."""
    rate, length = (query.question.settings.get(name) for name in ("request_rate", "output_len"))
    return float(str(rate or 0)) * float(str(length or 0)) if query.answers_in_tokens else 0.0


def missed(limits: Sequence[Limit], step: PricedStep) -> float:
    """Natural log of how far a price misses the worst of some limits; 0 within."""
    return max((_beyond(limit, step.results) for limit in limits), default=0.0)


def _beyond(limit: Limit, results: Mapping[str, float]) -> float:
    """Natural log of a value over its limit; 0 where it is kept, or not modelled."""
    value = results.get(LIMITED.get(limit.metric, ""))
    if value is None or value <= limit.maximum:
        return 0.0
    return math.log(value / limit.maximum) if limit.maximum > 0 else math.inf


def _spelt(row: Mapping[str, float]) -> dict[str, object]:
    """A row with the words of the cost model for what it counts by place."""
    return {name: CHOICES[name][int(value)] if name in CHOICES else value for name, value in row.items()}


def expected_of(option: PricedStep, problem: Problem) -> tuple[ExpectedValue, ...]:
    """The results of a layout, those with a limit too; what the question asks for comes first."""
    decides = problem.objective.metric
    first = decides if decides in LIMITED else priced_as(problem.objective, problem.workload.kind)
    limited = [limit.metric for limit in problem.limits if limit.metric in LIMITED]
    names = dict.fromkeys([*_SHOWN, *limited, first or _SHOWN[0]])
    factor = math.exp(NORMAL_90 * option.spread) if math.isfinite(option.spread) else 1.0
    return tuple(
        ExpectedValue(
            metric=name,
            unit="s" if name in LIMITED else option.unit.removeprefix("output "),
            value=value,
            low=value / factor,
            high=value * factor,
            tier="modelled",
        )
        for name in sorted(names, key=lambda item: item != first)
        if (value := option.results.get(LIMITED.get(name, name))) is not None and math.isfinite(value)
    )
