"""Search files made from a model and a machine: layouts of training and serving on the cost model.

Values come from sizes (divisors, powers of two); rules that leave out what cannot be say why and where they
are from. A rule whose fact is unknown is skipped, and that is said.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kg.errors import InfeasibleError, InputError, MissingFactError
from recommender.cost_model.layout_domain import divisors
from recommender.space.made.generated import ExcludedValue, GeneratedSpace, count_configurations, rule
from recommender.space.made.memory_rule import RULES, SOURCE, MemoryRule, fit_constraint
from recommender.space.space_file import read_space

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.cost_model.facts.model import ModelSizes
    from recommender.cost_model.machine import Machine
    from recommender.cost_model.question import Question
    from recommender.space.made.layer_groups import LayerGroups

MEGATRON = "Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, SC 2021"
DISAGGREGATED = "Zhong et al., DistServe, OSDI 2024"
ZERO = "Rajbhandari et al., ZeRO, SC 2020"
LONGEST_BATCH = 512
"""Largest batch of a serving step that is proposed; a choice."""
LARGEST_MICRO_BATCH = 64
"""Largest micro-batch that is proposed; a choice."""
MOST = 300_000
"""Configurations up to which values of no use are looked for; a choice: half a second."""
PRECISIONS = ("bf16", "fp16", "int8", "fp8", "w4a16", "w4a8")
CHUNKS = (0, 512, 2048, 8192)
"""Tokens of a chunk of the prompt: the powers of four about vLLM's default of 2048, and none."""


def layout_space(
    question: Question, *, margin: float = 0.0, groups: LayerGroups | None = None
) -> GeneratedSpace:
    """The layouts that a model may have on a machine.

    Args:
        question: The model, which has layers, its machine, the phase, and the settings that are not searched,
            such as ``seq_len`` and ``global_batch``.
        margin: Share above the memory that may be needed, for a search that measures.
        groups: Layer groups whose precision is searched too; None for one precision for all.

    Raises:
        InputError: A network without layers, or training without what it needs.
        InfeasibleError: Nothing is left; the message names the rules.
    """
    model, machine, fixed = question.model, question.machine, question.settings
    if not model.layers:
        raise InputError(f"{model.id}: a network without known layers has no layouts to choose from")
    is_training = question.phase == "training"
    made = _training(model, machine.count, fixed) if is_training else _serving(model, machine)
    parameters, constraints, left = made
    if groups is not None:
        groups.add(parameters, constraints, left)
    parameters |= {name: [value] for name, value in fixed.items() if name in parameters}
    skipped: list[str] = []
    rest = {name: value for name, value in fixed.items() if name not in parameters}
    count = _fitting(replace(question, settings=rest), margin, parameters, constraints, left, skipped)
    return GeneratedSpace(
        parameters=parameters,
        constraints=tuple(constraints),
        excluded=tuple(left),
        skipped=tuple(skipped),
        configurations=count,
    )


_rule = partial(rule, source=MEGATRON)
_Made = tuple[dict[str, list[object]], list[dict[str, str]], list[ExcludedValue]]


def _divisors(
    number: float, excluded: list[ExcludedValue], name: str, *wholes: tuple[float, str]
) -> list[object]:
    """Divisors of a number that divide the wholes too; the others are left out with the reason."""
    found: list[object] = []
    for value in divisors(int(number)):
        broken = next((why for whole, why in wholes if whole % value), "")
        if broken:
            excluded.append(ExcludedValue(what=f"{name}={value}", why=broken, source=MEGATRON))
        else:
            found.append(value)
    return found


def _powers(most: float) -> list[object]:
    return [2**k for k in range(int(most).bit_length()) if 2**k <= most]


def _training(model: ModelSizes, count: int, fixed: Mapping[str, object]) -> _Made:
    left: list[ExcludedValue] = []
    length, batch = _whole(fixed, "seq_len"), _whole(fixed, "global_batch")
    if not length and not model.tokens_per_image:
        raise InputError("a training step needs a sequence length", hint="--set seq_len=4096")
    heads = (model.heads, f"does not divide the {model.heads:g} attention heads")
    parameters: dict[str, list[object]] = {
        "tensor_parallel": _divisors(count, left, "tensor_parallel", heads),
        "pipeline_parallel": _divisors(
            count, left, "pipeline_parallel", (model.layers, f"does not divide the {model.layers:g} layers")
        ),
        "virtual_stages": [1, 2, 3, 4],
        "micro_batch": _powers(min(batch or LARGEST_MICRO_BATCH, LARGEST_MICRO_BATCH)),
        "zero_stage": [0, 1, 2, 3],
        "recompute": ["none", "selective", "full"],
        "offload": ["none", "optimizer", "activations"],
        "sequence_parallel": [0, 1],
    }
    inside = "tensor_parallel * pipeline_parallel"
    constraints = [
        _rule("virtual_stages == 1 or pipeline_parallel > 1", "interleaving needs a pipeline"),
        _rule(
            f"{model.layers:g} % (pipeline_parallel * virtual_stages) == 0",
            f"pipeline times chunks must divide {model.layers:g} layers",
        ),
        _rule(
            "zero_stage < 2 or pipeline_parallel == 1",
            "ZeRO stages 2 and 3 need a pipeline of 1",
            source=ZERO,
        ),
        _rule("sequence_parallel == 0 or tensor_parallel > 1", "there is no sequence to split"),
    ]
    if length:
        parameters["context_parallel"] = _divisors(
            count, left, "context_parallel", (length, f"does not divide the sequence of {length:g}")
        )
        inside += " * context_parallel"
    if model.experts:
        experts = (model.experts, f"does not divide the {model.experts:g} experts")
        parameters["expert_parallel"] = _divisors(count, left, "expert_parallel", experts)
        constraints.append(
            _rule(
                f"{count} % (pipeline_parallel * expert_parallel) == 0",
                "experts are spread over the devices of a stage",
            )
        )
    constraints.insert(0, _rule(f"{count} % ({inside}) == 0", f"the layout must divide {count} devices"))
    if batch:
        constraints.append(
            _rule(
                f"{batch:g} * {inside} % ({count} * micro_batch) == 0",
                f"micro-batch times data must divide the global batch of {batch:g}",
            )
        )
    return parameters, constraints, left


def _serving(model: ModelSizes, machine: Machine) -> _Made:
    left: list[ExcludedValue] = []
    count = machine.count
    heads = (model.heads, f"does not divide the {model.heads:g} attention heads")
    layers = (model.layers, f"does not divide the {model.layers:g} layers")
    parameters: dict[str, list[object]] = {
        "tensor_parallel": _divisors(count, left, "tensor_parallel", heads),
        "pipeline_parallel": _divisors(count, left, "pipeline_parallel", layers),
        "data_parallel": _divisors(count, left, "data_parallel"),
        "batch": _powers(LONGEST_BATCH),
        "chunk": list(CHUNKS),
        "precision": [],
    }
    for name in PRECISIONS:
        try:
            machine.device.peak(name)
            parameters["precision"].append(name)
        except InputError as fault:
            left.append(ExcludedValue(what=f"precision={name}", why=str(fault), source="facts of the device"))
        except MissingFactError as fault:
            left.append(
                ExcludedValue(
                    what=f"precision={name}", why=f"not known: {fault}", source="facts of the device"
                )
            )
    constraints = [
        _rule(
            f"tensor_parallel * pipeline_parallel * data_parallel == {count}",
            f"the layout must be the {count} devices",
        )
    ]
    if count > 1:
        parameters["separation"] = ["mixed", "separate"]
        parameters["prefill_engines"] = [0, *_powers(count - 1)]
        constraints += [
            _rule(
                "prefill_engines < data_parallel", "an engine that decodes must be left", source=DISAGGREGATED
            ),
            _rule(
                "(separation == 'separate') == (prefill_engines > 0)",
                "prefill apart from decode takes engines of its own",
                source=DISAGGREGATED,
            ),
        ]
    if model.experts:
        experts = (model.experts, f"does not divide the {model.experts:g} experts")
        parameters["expert_parallel"] = _divisors(count, left, "expert_parallel", experts)
        constraints.append(
            _rule(
                "tensor_parallel * data_parallel % expert_parallel == 0",
                "experts are spread over tensor times data",
            )
        )
    return parameters, constraints, left


def _whole(fixed: Mapping[str, object], name: str) -> float:
    value = fixed.get(name)
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 1 or value % 1:
        raise InputError(f"{name}: {value!r} is no whole number of at least 1")
    return float(value)


def _fitting(
    question: Question,
    margin: float,
    parameters: dict[str, list[object]],
    constraints: list[dict[str, str]],
    excluded: list[ExcludedValue],
    skipped: list[str],
) -> int | None:
    """Leave out the values with which nothing fits the memory; how many configurations are left.

    Raises:
        InfeasibleError: Nothing is left.
    """
    count = count_configurations(parameters, constraints, excluded, most=MOST)
    fits, unasked = fit_constraint(question, margin=margin)
    if unasked:
        skipped.append(unasked)
    if fits is None or not isinstance(fits.holds, MemoryRule):
        return count
    if count is None:
        skipped.append(f"values of no use were not looked for among more than {MOST:,} configurations")
        return None
    space = read_space({"parameters": parameters, "constraints": constraints})
    u = np.concatenate(list(space.blocks()))
    codes, needed = fits.holds.codes(space.parameters, u)
    allowed, most = codes == 0, fits.holds.most_bytes
    if not allowed.any() and not np.any(codes == RULES.index("memory") + 1):
        raise InfeasibleError(
            f"{question.machine.device.id} computes in no precision of these layouts",
            hint="leave precision out of --set: those that it computes are searched",
        )
    if not allowed.any():
        raise InfeasibleError(
            f"nothing fits: at least {np.nanmin(needed) / 1e9:.1f} GB on a device of {most / 1e9:.1f} GB",
            hint="more devices, a smaller batch, or a lower precision",
        )
    for j, parameter in enumerate(space.parameters):
        values = parameters[parameter.name]
        levels = parameter.levels(u[:, j])
        for level, value in enumerate(parameter.values):
            here = levels == level
            what = f"{parameter.name}={value}"
            if not here.any():
                broken = [item for item in constraints if parameter.name in item["expression"]]
                told = "; ".join(item["reason"] for item in broken)
                sources = "; ".join(dict.fromkeys(item["source"] for item in broken))
                excluded.append(ExcludedValue(what=what, why=f"never with: {told}", source=sources))
            elif not allowed[here].any():
                why = f"needs at least {np.nanmin(needed[here]) / 1e9:.1f} of {most / 1e9:.1f} GB"
                excluded.append(ExcludedValue(what=what, why=why, source=SOURCE))
            else:
                continue
            values.remove(value)
    if gone := int((~allowed).sum()):
        excluded.append(
            ExcludedValue(
                what=f"{gone:,} of {count:,} configurations", why=f"not one that {fits.reason}", source=SOURCE
            )
        )
    return int(allowed.sum())
