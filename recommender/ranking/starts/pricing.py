"""The question that layouts are priced by: model, machine, precision, and what recipes hold fixed."""

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from types import MappingProxyType

from kg.errors import InputError, MissingFactError
from kg.nouns.layout import DEGREES
from kg.nouns.values import Value
from kg.terms.dialects import spell, statement
from kg.terms.meanings import meaning_of
from kg.terms.model_name import quantised_format, read_name
from kg.terms.purposes import QUANTISATION, plain_key
from kg.triples.hardware_tree import HardwareTree
from recommender.cost_model.assumed import (
    USUAL_LENGTH,
    assumed_adapters,
    assumed_precision,
    assumed_sequence,
    fitting_lengths,
    own_lengths,
    task_lengths,
)
from recommender.cost_model.facts.device import NOT_WIDENING, UNPACKED
from recommender.cost_model.layout_domain import BY_LAYERS, expert_block, fullest
from recommender.cost_model.machine import NETWORK_FACTS
from recommender.cost_model.priced_step import PricedStep, price
from recommender.cost_model.question import Question, is_step
from recommender.cost_model.settings.dialects import translate
from recommender.cost_model.settings.engine_defaults import (
    age_note,
    engine_defaults,
    replicated_by,
    trainers,
)
from recommender.cost_model.settings.plans import PHASES
from recommender.cost_model.workloads.inference import feeds_forward
from recommender.cost_model.workloads.memory_fit import USABLE_MEMORY, memory_bytes, not_modelled
from recommender.ranking.feasibility.server_fit import above_zero, experts_on_host, told_cache
from recommender.ranking.layout_question import LIMITED, SHORTEST, LayoutQuestion
from recommender.ranking.start import StartConfiguration
from recommender.ranking.starts.draft import StartDraft, quantises
from recommender.ranking.starts.drafting import DRAFTS
from recommender.ranking.starts.flags.layout_flags import SPLITTING
from recommender.ranking.starts.layout_choice import ChosenLayout
from recommender.ranking.starts.layout_choice import degrees as degrees_of
from recommender.ranking.starts.lengths import most_tokens, slots_of
from recommender.ranking.starts.recipes.recipe_load import AT_ONCE, is_load_of, recipe_load
from recommender.ranking.starts.recipes.resemblance import WeighedRecipe
from recommender.ranking.starts.rollout import ONLY_THE_UPDATE, ROLLED

FOUR_BIT = "w4"
_ALL_SHARED = 3
_DEGREES = frozenset(DEGREES.values())
_WHOLE = dict.fromkeys(_DEGREES - {"data_parallel"}, 1)
_OF_START = frozenset({"micro_batch", "recompute", "zero_stage"})
"""Settings that a start of training writes as they were priced, whatever layouts were chosen by."""


ELSEWHERE = "experts run on the host of unknown speed"


def layout_question(
    draft: StartDraft,
    sizes: Mapping[str, Value],
    tree: HardwareTree,
    lengths: Mapping[str, float] = MappingProxyType({}),
) -> LayoutQuestion | None:
    """The question that layouts answer; None where the cost model does not split such a model.

    Args:
        draft: The start so far: its notes take in what is assumed.
        sizes: Facts of the model by name, with its ``architecture``.
        tree: Knows hardware.
        lengths: Of the user's own runs, where the question states none.
    """
    situation = draft.situation
    problem = situation.problem
    if not is_step(problem):
        return None
    try:
        question = Question.of(problem, sizes, tree, phase="training" if situation.is_training else "serving")
    except (InputError, MissingFactError) as fault:
        draft.notes.append("; ".join(filter(None, (f"layouts are not priced: {fault}", fault.hint))))
        return None
    is_network = feeds_forward(question.model, question.phase)
    is_elsewhere = experts_on_host(situation.current or {})
    if reason := ELSEWHERE if is_elsewhere else not_modelled(question.model):
        draft.notes.append(f"layouts are not priced: {reason}")
        return None
    if question.engine != situation.framework.id:  # not stated, or what runs in its place
        question = replace(question, engine=situation.framework.id, version=situation.framework.version)
    draft.notes.extend(filter(None, [age_note(question.engine, question.version)]))
    settings = {
        **_whole_graphs(question),
        **_of_every_layout(draft, question),
        **question.settings,
        "precision": _precision(draft, question),
    }
    facts = own_lengths(lengths, settings)
    if not situation.is_training and not question.model.encodes:
        facts = chain(facts, task_lengths(situation.task, {**lengths, **settings}, situation.phase))
        if not lengths and not situation.task and situation.phase != "prefill":
            facts = chain(facts, fitting_lengths(most_tokens(situation), settings))
    for fact in facts:
        settings[fact.name.rpartition(".")[2]] = fact.value
        draft.assumed.append(fact)
    if situation.phase == "decode" and NETWORK_FACTS & question.machine.network.facts.keys():
        settings.setdefault("separation", "separate")  # what prefills stands elsewhere
    if situation.is_training and not is_network:
        _hold(draft, settings)
    degrees = {name: size for name, size in settings.items() if name in _DEGREES}
    splits = situation.framework.id in SPLITTING
    if not splits and set(degrees.values()) - {1} and situation.framework.id in trainers():
        splits, degrees = True, {**_WHOLE, **degrees}  # a launch that divides it, and by what it says alone
    elif situation.framework.id in ROLLED and (degrees or not splits):
        held = _WHOLE if situation.current else _WHOLE.keys() - {"context_parallel"}
        splits, degrees = True, {**dict.fromkeys(held, 1), **degrees}
    draft.load = situation.at_once
    is_limited = any(limit.metric in LIMITED for limit in problem.limits)  # then it is the most that keeps it
    if draft.load is None and problem.objective.metric not in SHORTEST and not is_limited:
        draft.load = _load(draft, question.machine.count)
    freed = _stated(draft, "free_share")
    open_ = _DEGREES | {"concurrency"}  # the load is what runs at once: the batch of each engine
    return LayoutQuestion(
        question=replace(question, settings={n: v for n, v in settings.items() if n not in open_}),
        objective=problem.objective.metric,
        limits=problem.limits,
        concurrency=draft.load,
        usable=min(
            _stated(draft, "memory_share")
            or (1.0 if freed or question.engine in BY_LAYERS else USABLE_MEMORY),
            1.0,
        ),
        cache_share=min(freed or 1.0, 1.0),
        cache_bytes=told_cache(statement(situation.current or {}, situation.framework.id).facts) or math.inf,
        most_of_engine=_stated(draft, AT_ONCE) or slots_of(situation),
        engines=float(str(degrees.get("data_parallel", 1))) if degrees else 0.0,
        batch=_batch(draft),
        is_load_told=situation.at_once is not None,
        splits=splits and not is_network,
        degrees=degrees,
        is_separate=bool(degrees)
        and situation.framework.id == "sglang"
        and not situation.splits_attention(anew=False),
        block=_block(draft, question, settings),
        shards=() if is_network or not situation.is_training else _shards(draft, settings),
    )


def started_question(
    question: Question | None, chosen: ChosenLayout, start: StartConfiguration | None
) -> Question | None:
    """The question with the layout and the settings of a start, of the layout alone without one.

    None if that has no price.
    """
    layout = chosen.option.layout
    if question is None or chosen.option.log_merit is None:
        return None
    settings_of_start = start.settings if start is not None else ()
    names = {item.key.lstrip("-").replace("-", "_"): item.value for item in settings_of_start}
    switches = question.translated(names)
    sizes = layout.degrees(PHASES[question.phase])
    settings = {**switches, **question.settings, **chosen.option.settings, **sizes}
    if question.phase == "training":
        settings |= {name: switches[name] for name in _OF_START & switches.keys()}
    return replace(question, model=fullest(question.model, layout), settings=settings)


def why_unpriced(question: Question) -> str:
    """The reason that the cost model cannot price a question; empty if it can."""
    try:
        price(question)
    except (InputError, MissingFactError) as fault:
        return str(fault)
    return ""


def started_price(question: Question | None) -> PricedStep | None:
    """The price of a started question; None if it has none."""
    try:
        return None if question is None else price(question)[0]
    except (InputError, MissingFactError):
        return None


def _stated(draft: StartDraft, fact: str, *, over: bool = False) -> float | None:
    """A fact that a setting states which runs now, as a number; None where none does.

    Args:
        draft: Knows what runs.
        fact: Its name.
        over: Whether the setting counts all engines.
    """
    current: Mapping[str, Value] = draft.situation.current or {}
    for name, value in current.items():
        meaning = meaning_of(name, draft.situation.framework.id)
        if meaning is not None and meaning.fact == fact and meaning.over is over:
            return above_zero(value)
    return None


def _batch(draft: StartDraft) -> float | None:
    """Requests that each engine runs now, where that is said, and not a bound on them."""
    program = draft.situation.framework.id
    for name, value in (draft.situation.current or {}).items():
        meaning = meaning_of(name, program)
        if plain_key(name) in {"batch", "batch_size"} and meaning is not None and meaning.fact == AT_ONCE:
            return above_zero(value)
    return None


def _load(draft: StartDraft, devices: int) -> float | None:
    """Requests at once on so many devices, as now or as recipes for it have them; None where neither says."""
    if _stated(draft, AT_ONCE) or slots_of(draft.situation):
        return None  # of one engine: how many there are is asked
    if (now := _stated(draft, AT_ONCE, over=True)) is not None:
        return now
    situation = draft.situation
    for item in draft.agreed:
        meaning, recipe = meaning_of(item.key), item.first
        if meaning is None or meaning.fact != AT_ONCE or not item.value.isdigit():
            continue
        at_once = recipe_load(recipe)
        if at_once and is_load_of(recipe, situation.model.id, next(iter(situation.hardware), "")):
            return max(1.0, round(at_once / recipe.devices * devices))
    return None


def _hold(draft: StartDraft, settings: dict[str, object]) -> None:
    """Add settings that training recipes agree on, and a sequence length where none is stated."""
    own = replicated_by(draft.situation.framework.id, settings)
    if own is None:
        said = translate({item.key: item.value for item in draft.agreed}, "training").settings
        draft.droppable = tuple(_OF_START & said.keys() - settings.keys())
        settings |= {name: said[name] for name in draft.droppable}
        settings.setdefault("zero_stage", 1)
    elif (rank := own.get("lora_rank")) and "lora_rank" not in settings:
        settings["lora_rank"] = rank
        draft.assumed.append(assumed_adapters(int(rank)))
    rolls = draft.situation.framework.id in ROLLED
    is_told = "micro_batch" in settings and draft.situation.problem.situation.has_script
    if own is not None and is_told and not rolls:  # a mini-batch of rollouts is accumulated
        settings.setdefault("global_batch", 0)  # none is where a launch does not say so
    both = sum(draft.situation.number(name) or 0.0 for name in ("input_len", "output_len"))
    if rolls or draft.situation.problem.workload.traits.get("rewards") is True:
        draft.notes.append(ONLY_THE_UPDATE)
    if rolls:
        settings |= {"seq_len": both} if both and "seq_len" not in settings else {}
    if "seq_len" not in settings:
        length = min(USUAL_LENGTH, draft.situation.model.most_tokens or USUAL_LENGTH)
        settings["seq_len"] = length
        draft.assumed.append(assumed_sequence(length))


def _shards(draft: StartDraft, settings: Mapping[str, object]) -> tuple[dict[str, float], ...]:
    """Ways in which a replicating trainer may shard a model: not at all, or by the stages of ZeRO.

    What is shared out has weights in float32 beside those in 16 bit (DeepSpeed, FSDP of accelerate).
    """
    framework, release = draft.situation.framework.id, draft.situation.framework.version
    own = replicated_by(framework, settings)
    least = 0.0 if own is None else float(str(own.get("zero_stage", 0)))
    if own is None or "zero_stage" in settings or least == _ALL_SHARED:
        return ()
    stages = [stage for stage in (2, 3) if stage > least and spell("zero_stage", framework, release, stage)]
    return ({}, *({"zero_stage": float(stage), "pure_bf16": 0.0} for stage in stages))


_BLOCKED = frozenset({"vllm", "sglang"})
"""Engines that refuse to divide a block of scales."""


def _block(draft: StartDraft, question: Question, settings: Mapping[str, object]) -> int:
    """Columns of an expert that have one scale, in weights that are published in FP8."""
    situation = draft.situation
    is_made = "precision" in statement(situation.current or {}, situation.framework.id).facts
    if settings["precision"] != "fp8" or is_made or question.machine.device.ascend:
        return 0
    named = situation.problem.situation.checkpoint
    is_own = not read_name(named).weights and draft.weight_format != "fp8"  # asked for in a narrower format
    return expert_block((situation.model.id,), "" if is_own else named) if question.engine in _BLOCKED else 0


def _whole_graphs(question: Question) -> dict[str, object]:
    """Graphs of all requests where an engine captures fewer unless it is told: a start tells it."""
    usual = engine_defaults(question.phase, question.engine, question.version)
    return {"captured_requests": 0} if usual.get("captured_requests") else {}


def _of_every_layout(draft: StartDraft, question: Question) -> Mapping[str, object]:
    """Settings of a start that every layout is priced with: drafts, and engines that prefill together."""
    held = {
        item.key: item.value
        for item in draft.agreed
        if plain_key(item.key).startswith(DRAFTS)
        or ((meaning := meaning_of(item.key)) is not None and meaning.fact == "engines")
    }
    return translate(held, question.phase).settings if question.phase == "serving" else {}


def _in_four_bit(one: WeighedRecipe, model: str, question: Question) -> bool:
    """True if a recipe has 4-bit weights: by its name, or as 8-bit ones do not fit the way it splits."""
    recipe = one.recipe
    if recipe.precision or recipe.model != model or one.is_foreign:
        return FOUR_BIT in recipe.precision.lower()
    sizes = {DEGREES[name]: size for name, size in degrees_of(recipe).items() if name != "cp"}
    try:
        row = {**question.settings, **sizes, "precision": "int8", "batch": 1.0}
        device = question.machine.device
        parts = memory_bytes(question.model, "serving", [row], recipe.devices, reserved=device.reserved_bytes)
    except InputError:
        return False
    held = sum(float(part[0]) for part in parts.values())
    return held > USABLE_MEMORY * device.memory_capacity


HALVED = frozenset({"tei"})
"""Servers that on GPUs of NVIDIA compute in float16 unless they are told otherwise
(https://github.com/huggingface/text-embeddings-inference/blob/v1.9.3/backends/src/dtype.rs)."""


def _precision(draft: StartDraft, question: Question) -> str:
    """The precision of the weights: what is asked for, what the start quantises to, or the device's own."""
    quantised = draft.value(QUANTISATION)
    if draft.situation.problem.workload.precision:
        quantised = None
    if quantised is not None:
        name = quantised_format(quantised) or "int8"
        first = next((one for one in draft.weighed if quantises(one.recipe)), None)
        if name == "int8" and first and _in_four_bit(first, draft.situation.model.id, question):
            name = "w4a8"
        draft.assumed.append(assumed_precision(name))
        return name
    device = question.machine.device
    if not (stated := question.settings.get("precision")):
        usual = "fp16" if device.nvidia and draft.situation.framework.id in HALVED else device.sixteen_bit
        if question.phase == "serving" and question.model.layers:
            draft.assumed.append(assumed_precision(usual))
        return usual
    is_set = "precision" in statement(draft.situation.current or {}, draft.situation.framework.id).facts
    if not (draft.situation.problem.workload.precision or is_set):
        draft.assumed.append(assumed_precision(f"{stated}, as they are published"))
    if (priced := device.computed_precision(str(stated))) != str(stated):
        is_kept = UNPACKED.get(str(stated)) == priced and question.engine not in NOT_WIDENING
        how = "its weights are widened in each product" if is_kept else f"layouts are priced in {priced}"
        draft.notes.append(f"{how}: nothing is known of the device in {stated}")
    return priced
