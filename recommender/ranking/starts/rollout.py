"""The engine that writes answers between the updates of a model, on the devices that train it.

It has what training leaves while it waits: weights and states stay, or lie on the host where the engine needs
the room. Both take turns, so an update has the whole memory.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kg.nouns.values import Value
from kg.terms.dialects import spell, statement
from kg.terms.meanings import meaning_of
from recommender.cost_model.priced_step import PricedStep
from recommender.cost_model.question import Question
from recommender.cost_model.settings.plans import SERVING
from recommender.cost_model.workloads.memory_fit import memory_bytes
from recommender.ranking.layout_question import LayoutQuestion
from recommender.ranking.plan_setting import PlanSetting
from recommender.ranking.starts.flags.layout_flags import spelt_settings
from recommender.ranking.starts.layout_options import layout_options
from recommender.ranking.starts.situation import StartSituation

ROLLED = frozenset({"verl", "verl-megatron", "mindspeed-rl", "openrlhf-ppo"})
"""Programs whose model writes answers on the devices that it is trained on."""
LARGEST_SHARE, STEP = 0.7, 0.05
"""Share of the memory that an engine is given at most, of the 0.5 to 0.7 that verl's guide to tuning advises
(docs/perf/perf_tuning.rst), and its steps, a choice."""
ENOUGH = 0.9
"""Share of the most tokens a second for which no more is moved to the host; a choice."""
_FACTS = {"optimizer": "host_optimizer", "weights": "host_weights", "gradients": "host_gradients"}
_MOVED = [tuple(_FACTS)[:parts] for parts in range(3)]
"""Parts that lie on the host while answers are written, the least first: weights are copied from it."""
_WHOLE = {"pipeline_parallel": 1, "expert_parallel": 1}
ONLY_THE_UPDATE = (
    "tokens/s are of the update alone: answers, reference, rewards and a critic take their own time"
)
NO_ENGINE = (
    "no engine within a server that writes answers has room beside what training keeps, with share of the"
    " memory and offloading as they are: its settings are as told, or left out"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """An engine that writes answers.

    Attributes:
        tensors: Devices that share each matrix.
        share: Of the memory of a device that it takes.
        moved: Parts of training that lie on the host meanwhile.
    """

    tensors: int
    share: float
    moved: tuple[str, ...]


def in_one_count(settings: list[PlanSetting], situation: StartSituation) -> tuple[list[PlanSetting], bool]:
    """The settings that count samples one way, as what runs now does, and whether it packs them by tokens."""
    program = situation.framework.id
    now = statement(situation.current or {}, program).facts
    facts = {item.key: one.fact for item in settings if (one := meaning_of(item.key, program)) is not None}
    is_packed = "packed" in now or ("micro_batch" not in now and "packed" in facts.values())
    other = "micro_batch" if is_packed else "packed"
    return [item for item in settings if facts.get(item.key) != other], is_packed


def rollout_settings(
    situation: StartSituation, question: Question, option: PricedStep, *, is_packed: bool
) -> list[PlanSetting]:
    """Settings of the engine that writes answers, and of the passes beside the update.

    Args:
        situation: What is asked, with what runs now.
        question: What training is priced by.
        option: How it is divided.
        is_packed: Whether samples are packed up to a number of tokens.
    """
    program, now = situation.framework.id, statement(situation.current or {}, situation.framework.id).facts
    facts = dict(_facts(question, option, now, is_packed=is_packed))
    return spelt_settings(facts, program, situation.framework.version)


def _facts(
    question: Question, option: PricedStep, now: Mapping[str, Value], *, is_packed: bool
) -> Iterator[tuple[str, Value]]:
    layout, network, count = option.layout, question.machine.network, option.layout.devices
    each, nodes = int(min(count, network.per_node)), math.ceil(count / network.per_node)
    yield from (("world", count), ("node_devices", each), ("nodes", nodes))
    yield from (("reference_node_devices", each), ("reference_nodes", nodes))
    micro = int(float(str({**question.settings, **option.settings}["micro_batch"])))
    if is_packed:
        yield "pass_tokens", micro * math.ceil(float(str(question.settings["seq_len"])) / layout.cp)
    else:  # no larger than what trains: both have logits
        yield from ((name, micro) for name in ("logprob_batch", "reference_batch"))
    if (found := rollout_of(question, option, now)) is not None:
        yield from (("rollout_tensor", found.tensors), ("memory_share", found.share))
        yield "rollout_engines", count // found.tensors
        yield from ((_FACTS[name], 1) for name in found.moved)


def rollout_of(question: Question, option: PricedStep, now: Mapping[str, Value]) -> Rollout | None:
    """The fastest engine in what training leaves, with the least on the host; None where none has room.

    Args:
        question: What training is priced by.
        option: How it is divided, with its micro-batch and the like.
        now: What runs now, by fact.
    """
    device, count = question.machine.device, question.machine.count
    told = {**question.settings, **option.settings, **option.layout.degrees()}
    if "seq_len" not in told:  # a network that writes no text has no rollouts
        return None
    parts = memory_bytes(
        question.model, "training", [told], count, engine=question.engine, reserved=device.reserved_bytes
    )
    held = {name: float(part[0]) for name, part in parts.items()}
    if told.get("zero_stage") != 1:  # only Megatron's gradients have a buffer that stays
        held["gradients"] = 0.0
    length = float(str(told["seq_len"]))
    prompt = min(float(str(now.get("input_len", SERVING["input_len"]))), length // 2)
    served = replace(
        question,
        phase="serving",
        engine="vllm-ascend" if device.ascend else "vllm",
        version="",
        settings={"precision": told["precision"], "input_len": prompt, "output_len": length - prompt},
    )
    degrees = _WHOLE | ({"tensor_parallel": now["rollout_tensor"]} if "rollout_tensor" in now else {})
    found: list[tuple[float, Rollout]] = []
    fastest: dict[float, PricedStep | None] = {}
    for named in _MOVED:
        moved = (*named, "gradients") if named and held["gradients"] else named
        is_fixed = any(spell(_FACTS[name], question.engine) is None for name in named)
        is_other = is_fixed or any(
            now.get(fact, name in moved) != (name in moved) for name, fact in _FACTS.items()
        )
        kept = sum(held[name] for name in _FACTS if name not in moved)
        left = 1 - (kept + held["reserved"]) / device.memory_capacity
        usual = round(min(math.floor(left / STEP) * STEP, LARGEST_SHARE), 2)
        share = float(str(now.get("memory_share", usual)))
        if is_other or not 0 < share <= left:
            continue
        if share not in fastest:
            asked = LayoutQuestion(question=served, objective="throughput", usable=share, degrees=degrees)
            fastest[share] = next(iter(layout_options(asked)), None)
        if (first := fastest[share]) is not None:
            one = Rollout(tensors=first.layout.tp, share=share, moved=moved)
            found.append((first.log_merit or 0.0, one))
    best = max((rate for rate, _ in found), default=0.0)
    return next((one for rate, one in found if rate >= best + math.log(ENOUGH)), None)
