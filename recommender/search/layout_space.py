"""Search files made from a model and a machine: layouts of training and serving on the cost model.

Values come from sizes (divisors, powers of two); rules that leave out what cannot be say why and where they
are from. A rule whose fact is unknown is skipped, and that is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kg.errors import InfeasibleError, InputError, MissingFactError
from recommender.cost_model import layouts, serving
from recommender.cost_model.plans import SERVING, TRAINING, columns
from recommender.search.space_file import read_space

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from recommender.cost_model.estimate import Machine
    from recommender.cost_model.model import Model

MEGATRON = "Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, SC 2021"
ZERO = "Rajbhandari et al., ZeRO, SC 2020"
COST_MODEL = "cost model of this program, modelled memory"
LONGEST_BATCH = 512
"""Largest batch of a serving step that is proposed; a choice."""
LARGEST_MICRO_BATCH = 64
"""Largest micro-batch that is proposed; a choice."""
MOST = 60_000
"""Configurations up to which memory is reckoned for all of them."""
PRECISIONS = ("bf16", "fp16", "int8", "fp8", "w4a16", "w4a8")
CHUNKS = (0, 512, 2048, 8192)
"""Tokens of a chunk of the prompt: the powers of four about vLLM's default of 2048, and none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What was left out, and why.

    Attributes:
        what: Parameter and value.
        why: The rule.
        source: Where the rule is from.
    """

    what: str
    why: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutSpace:
    """A space that was made.

    Attributes:
        parameters: Values by parameter.
        constraints: Rules that relate parameters, as a search file has them.
        left: What was left out before.
        skipped: Rules that could not be asked, and the fact they lack.
        configurations: How many are left; None if more than were counted.
    """

    parameters: Mapping[str, list[object]]
    constraints: tuple[Mapping[str, str], ...]
    left: tuple[Left, ...]
    skipped: tuple[str, ...]
    configurations: int | None


def layout_space(model: Model, machine: Machine, *, phase: str, fixed: Mapping[str, object]) -> LayoutSpace:
    """The layouts that a model may have on a machine.

    Args:
        model: What runs; it has layers.
        machine: Where.
        phase: ``"training"`` or ``"serving"``.
        fixed: Settings that are not searched, such as ``seq_len`` and ``global_batch``.

    Raises:
        InputError: No such phase, a network without layers, or training without what it needs.
        InfeasibleError: Nothing is left; the message names the rules.
    """
    if phase not in {"training", "serving"}:
        raise InputError(f"no phase named {phase!r}", hint="training or serving")
    if not model.layers:
        raise InputError(f"{model.id}: a network without known layers has no layouts to choose from")
    made = _training(model, machine.count, fixed) if phase == "training" else _serving(model, machine)
    parameters, constraints, left = made
    parameters |= {name: [value] for name, value in fixed.items() if name in parameters}
    skipped: list[str] = []
    fixed = {name: value for name, value in fixed.items() if name not in parameters}
    count = _fitting(model, machine, phase, fixed, parameters, constraints, left, skipped)
    return LayoutSpace(
        parameters=parameters,
        constraints=tuple(constraints),
        left=tuple(left),
        skipped=tuple(skipped),
        configurations=count,
    )


_Made = tuple[dict[str, list[object]], list[dict[str, str]], list[Left]]


def _rule(expression: str, reason: str, source: str = MEGATRON) -> dict[str, str]:
    return {"expression": expression, "reason": reason, "source": source}


def _divisors(number: float, left: list[Left], name: str, *wholes: tuple[float, str]) -> list[object]:
    """Divisors of a number that divide the wholes too; the others are left out with the reason."""
    found: list[object] = []
    for value in (value for value in range(1, int(number) + 1) if number % value == 0):
        broken = next((why for whole, why in wholes if whole % value), "")
        if broken:
            left.append(Left(what=f"{name}={value}", why=broken, source=MEGATRON))
        else:
            found.append(value)
    return found


def _powers(most: float) -> list[object]:
    return [2**k for k in range(int(most).bit_length()) if 2**k <= most]


def _training(model: Model, count: int, fixed: Mapping[str, object]) -> _Made:
    left: list[Left] = []
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
        _rule("zero_stage < 2 or pipeline_parallel == 1", "ZeRO stages 2 and 3 need a pipeline of 1", ZERO),
        _rule("sequence_parallel == 0 or tensor_parallel > 1", "there is no sequence to split", MEGATRON),
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


def _serving(model: Model, machine: Machine) -> _Made:
    left: list[Left] = []
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
            left.append(Left(what=f"precision={name}", why=str(fault), source="facts of the device"))
        except MissingFactError as fault:
            left.append(
                Left(what=f"precision={name}", why=f"not known: {fault}", source="facts of the device")
            )
    constraints = [
        _rule(
            f"tensor_parallel * pipeline_parallel * data_parallel == {count}",
            f"the layout must be the {count} devices",
        )
    ]
    if count > 1:
        parameters["separation"] = ["mixed", "separate"]
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
    model: Model,
    machine: Machine,
    phase: str,
    fixed: Mapping[str, object],
    parameters: dict[str, list[object]],
    constraints: list[dict[str, str]],
    left: list[Left],
    skipped: list[str],
) -> int | None:
    """Leave out the values with which nothing fits the memory; how many configurations are left.

    Raises:
        InfeasibleError: Nothing is left.
    """
    if empty := [name for name, values in parameters.items() if not values]:
        rules = "; ".join(dict.fromkeys(item.why for item in left if item.what.startswith(f"{empty[0]}=")))
        raise InfeasibleError(f"no value of {empty[0]} is left: {rules}")
    space = read_space({"parameters": parameters, "constraints": constraints})
    count = space.size(MOST)
    if count == 0:
        raise InfeasibleError(
            "no layout is left", hint="; ".join(dict.fromkeys(rule["reason"] for rule in constraints))
        )
    if count is None:
        skipped.append(f"memory: more than {MOST} configurations; fix some with --set")
        return None
    settings = [configuration.to_json() for configuration in space.enumerate()]
    needed = _memory_bytes(model, machine.count, phase, [{**fixed, **item} for item in settings])
    capacity = machine.device.memory_capacity
    if np.isnan(capacity):
        skipped.append(f"memory: memory_bytes of {machine.device.id} is not known")
        return count
    fits = needed <= capacity
    if not fits.any():
        raise InfeasibleError(
            f"nothing fits: at least {needed.min() / 1e9:.1f} GB on a device of {capacity / 1e9:.1f} GB",
            hint="more devices, a smaller batch, or a lower precision",
        )
    for name, values in parameters.items():
        for value in list(values):
            places = [place for place, item in enumerate(settings) if item.get(name) == value]
            if not places:
                broken = "; ".join(rule["reason"] for rule in constraints if name in rule["expression"])
                left.append(Left(what=f"{name}={value}", why=f"never with: {broken}", source=MEGATRON))
                values.remove(value)
            elif not fits[places].any():
                least = float(needed[places].min())
                why = f"needs at least {least / 1e9:.1f} of {capacity / 1e9:.1f} GB"
                left.append(Left(what=f"{name}={value}", why=why, source=COST_MODEL))
                values.remove(value)
    return int(fits.sum())


def _memory_bytes(
    model: Model, count: int, phase: str, settings: Sequence[Mapping[str, object]]
) -> NDArray[np.float64]:
    """Memory of the fullest device, shape (n,); needs neither links nor times.

    Raises:
        InputError: A setting that the cost model does not know, or a layout that cannot be.
    """
    devices = np.full(len(settings), float(count))
    if phase == "training":
        s = layouts.checked(model, columns(settings, TRAINING), devices)
        parts = layouts.memory_parts(model, s, s["micro_batch"] * s["seq_len"] / s["context_parallel"])
    else:
        s = serving.checked(model, columns(settings, SERVING), devices)
        parts = serving.memory_parts(model, s, s["batch"], s["input_len"] + s["output_len"])
    return np.asarray(sum(parts.values()), dtype=np.float64)
