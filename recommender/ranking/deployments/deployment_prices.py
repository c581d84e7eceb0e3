"""Deployments on the cost model: parts of a step, the first token, and the requests that fit."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kg.errors import InputError, MissingFactError
from recommender.cost_model.estimate import estimate
from recommender.cost_model.question import QuestionFacts
from recommender.cost_model.settings.plans import LayoutError
from recommender.cost_model.workloads.memory_fit import memory_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from kg.nouns.values import Value
    from kg.triples.hardware_tree import HardwareTree
    from recommender.cost_model.facts.model import ModelSizes
    from recommender.cost_model.question import Machine
    from recommender.ranking.deployments.deployment import Deployment
    from recommender.ranking.deployments.served_cases import Work

PARTS = ("compute", "memory", "communication_exposed", "scheduling")
"""Parts of a decode step; the time that prefills of others take is the fifth."""
USABLE_MEMORY = 0.9
"""Share of the memory that an engine fills: vLLM's default of --gpu-memory-utilization."""
DRAFTED = 2
"""Tokens drafted for each step where drafting is on and nothing says how many; a choice."""
_LEAST_S = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentPrice:
    """A deployment as the cost model sees it.

    Attributes:
        parts_s: Seconds of an output token by part, and the prefills of others at the end.
        ttft_s: Seconds of a prefill.
        in_flight: Requests that run at once: those there are, or those that fit the memory.
        memory_bytes: On the fullest device.
        watts: Power of a device; None where it is not known.
    """

    parts_s: tuple[float, ...]
    ttft_s: float
    in_flight: float
    memory_bytes: float
    watts: float | None


class DeploymentPricer:
    """Prices deployments, those of one machine together.

    Args:
        tree: Knows hardware.
        sizes_of: Facts of a model by its id; empty if they are not known.
    """

    def __init__(self, tree: HardwareTree, sizes_of: Callable[[str], Mapping[str, Value]]) -> None:
        self._tree = tree
        self._sizes_of = sizes_of
        self._facts: dict[tuple[str, str], QuestionFacts | None] = {}

    def prices(self, asked: Sequence[tuple[Work, Deployment]]) -> list[DeploymentPrice | None]:
        """The price of each; None where it does not fit, cannot be, or facts are missing."""
        found: list[DeploymentPrice | None] = [None] * len(asked)
        together: dict[tuple[str, str, int], list[int]] = defaultdict(list)
        for place, (work, deployment) in enumerate(asked):
            together[work.device, work.model, deployment.layout.devices].append(place)
        for (device, model, count), places in together.items():
            facts = self._look_up(device, model)
            if facts is None:
                continue
            machine = facts.machine(count)
            rows = [_settings(*asked[place], machine) for place in places]
            for place, price in zip(places, _priced(facts.model_sizes(), machine, rows), strict=True):
                found[place] = price
        return found

    def _look_up(self, device: str, model: str) -> QuestionFacts | None:
        key = (device, model)
        if key not in self._facts:
            sizes = self._sizes_of(model)
            facts = QuestionFacts.look_up(model, sizes, self._tree, device) if sizes else None
            try:
                is_known = facts is not None and bool(facts.model_sizes().layers)
            except MissingFactError:
                is_known = False
            self._facts[key] = facts if is_known else None
        return self._facts[key]


def _settings(work: Work, deployment: Deployment, machine: Machine) -> dict[str, object]:
    """Settings of the cost model; a number format that the device lacks is widened before products."""
    layout = deployment.layout
    precision = work.precision
    try:
        machine.device.peak(precision)
    except (InputError, MissingFactError):
        precision = "w4a16" if precision in {"fp4", "int4"} else "bf16"
    return {
        "tensor_parallel": layout.tp // layout.dp if layout.dp_attention else layout.tp,
        "data_parallel": layout.dp,
        "expert_parallel": layout.ep,
        "batch": max(1, round(deployment.concurrency / layout.dp)),
        "input_len": work.input_len,
        "output_len": work.output_len,
        "precision": precision,
        "speculative_tokens": DRAFTED if deployment.drafts else 0,
    }


def _priced(
    model: ModelSizes, machine: Machine, rows: Sequence[Mapping[str, object]]
) -> list[DeploymentPrice | None]:
    prices: list[DeploymentPrice | None] = [None] * len(rows)
    places, kept = list(range(len(rows))), list(rows)
    one = twice = np.empty(0)
    while kept:
        try:
            one, twice = (_memory(model, machine, kept, batch) for batch in (1, 2))
            break
        except LayoutError as fault:
            places = [place for place, holds in zip(places, fault.holds, strict=True) if holds]
            kept = [row for row, holds in zip(kept, fault.holds, strict=True) if holds]
        except (InputError, MissingFactError):
            return prices
    if not kept:
        return prices
    usable = machine.device.memory_capacity * USABLE_MEMORY
    each = twice - one
    batch = np.array([float(str(row["batch"])) for row in kept])
    if np.isfinite(usable):
        batch = np.minimum(batch, 1 + np.floor((usable - one) / each))
    fits = [at for at in range(len(kept)) if batch[at] >= 1]
    if not fits:
        return prices
    try:
        steps = estimate(
            model=model,
            machine=machine,
            phase="serving",
            settings=[{**kept[at], "batch": int(batch[at])} for at in fits],
        )
    except (InputError, MissingFactError):
        return prices
    for place, at in enumerate(fits):
        replicas = float(str(kept[at]["data_parallel"]))
        for_each = float(steps.extra["tokens_per_step"][place])
        parts = [float(steps.split_s[name][place]) / for_each for name in PARTS]
        others = max(float(steps.extra["tpot_s"][place]) - sum(parts), _LEAST_S)
        prices[places[at]] = DeploymentPrice(
            parts_s=(*(max(part, _LEAST_S) for part in parts), others),
            ttft_s=float(steps.extra["ttft_s"][place]),
            in_flight=batch[at] * replicas,
            memory_bytes=float(one[at] + (batch[at] - 1) * each[at]),
            watts=None if steps.power_w is None else float(steps.power_w[place]),
        )
    return prices


def _memory(
    model: ModelSizes, machine: Machine, rows: Sequence[Mapping[str, object]], batch: int
) -> NDArray[np.float64]:
    """Bytes on the fullest device with requests that are half answered, as they are on average."""
    half = [
        {**row, "batch": batch, "output_len": math.ceil(float(str(row["output_len"])) / 2)} for row in rows
    ]
    return np.asarray(sum(memory_bytes(model, "serving", half, machine.count).values()))
