"""Deployments on the cost model: time of an output token and of the first, and the requests that fit."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kg.errors import InputError
from recommender.cost_model.estimate import estimate_question
from recommender.cost_model.facts.device import Device
from recommender.cost_model.machine import link_note
from recommender.cost_model.question import Question, QuestionFacts
from recommender.cost_model.settings.plans import SERVING, LayoutError
from recommender.cost_model.workloads.memory_fit import USABLE_MEMORY, memory_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from kg.nouns.values import Value
    from kg.triples.hardware_tree import HardwareTree
    from recommender.cost_model.facts.model import ModelSizes
    from recommender.cost_model.machine import Machine
    from recommender.ranking.deployments.deployment import Deployment, Work

DRAFTED = 2
"""Tokens drafted for each step where drafting is on and nothing says how many; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentPrice:
    """A deployment as the cost model sees it.

    Attributes:
        tpot_s: Seconds of an output token, prefills of others between them included.
        ttft_s: Seconds of a prefill.
        prompts_per_s: Prompts a second of an instance that does nothing else.
        in_flight: Requests that run at once: those there are, or those that fit the memory.
        memory_bytes: On the fullest device.
        watts: Power of a device; None where it is not known.
        spread: Standard deviation of the log of the times.
    """

    tpot_s: float
    ttft_s: float
    prompts_per_s: float
    in_flight: float
    memory_bytes: float
    watts: float | None
    spread: float


class DeploymentPricer:
    """Prices deployments, those of one number of devices together.

    Args:
        tree: Knows hardware.
        sizes_of: Facts of a model by its id; empty if they are not known.
        about: Gives a question what measured runs near by make of its prices.
    """

    def __init__(
        self,
        tree: HardwareTree,
        sizes_of: Callable[[str], Mapping[str, Value]],
        about: Callable[[Question], Question],
    ) -> None:
        self._tree = tree
        self._sizes_of = sizes_of
        self._about = about

    def prices(self, work: Work, deployments: Sequence[Deployment]) -> list[DeploymentPrice | None]:
        """The price of each deployment for some work; None where it does not fit or cannot be.

        Raises:
            InputError: It is no model that is served token by token.
            MissingFactError: A fact of the model or the device is not known.
        """
        facts = QuestionFacts.look_up(work.model, self._sizes_of(work.model), self._tree, work.device)
        model = facts.model_sizes()
        if not model.layers:
            raise InputError(f"{work.model} does not answer token by token")
        prices: list[DeploymentPrice | None] = [None] * len(deployments)
        together: dict[tuple[str, str, int], list[int]] = defaultdict(list)
        for place, one in enumerate(deployments):
            together[one.framework, one.version, one.layout.devices].append(place)
        for (engine, version, count), places in together.items():
            machine = facts.machine(count)
            question = self._about(
                Question(
                    model=model,
                    machine=machine,
                    phase="serving",
                    settings={"input_len": work.input_len, "output_len": work.output_len},
                    engine=engine,
                    version=version,
                )
            )
            rows = [_settings(work, deployments[place], machine) for place in places]
            for place, price in zip(places, _priced(question, rows), strict=True):
                prices[place] = price
        return prices

    def links(self, work: Work, devices: int) -> str:
        """What to know of the links that a price of so many devices rests on; mostly nothing."""
        facts = QuestionFacts.look_up(work.model, self._sizes_of(work.model), self._tree, work.device)
        return link_note(facts.machine(devices))

    def precision(self, work: Work) -> str:
        """The number format that products are computed in."""
        wanted = work.precision
        if not wanted:
            facts = QuestionFacts.look_up(work.model, self._sizes_of(work.model), self._tree, work.device)
            wanted = facts.checkpoint_precision("serving") or "bfloat16"
        return Device(work.device, self._tree.facts(work.device)).computed_precision(wanted)


def _settings(work: Work, deployment: Deployment, machine: Machine) -> dict[str, object]:
    """Settings of the cost model; a number format that the device lacks is widened before products."""
    layout = deployment.layout
    return {
        **layout.degrees(SERVING),
        "batch": max(1, int(deployment.concurrency // layout.dp)),
        "input_len": work.input_len,
        "output_len": work.output_len,
        "precision": machine.device.computed_precision(work.precision),
        "speculative_tokens": DRAFTED if deployment.drafts else 0,
        "separation": "separate" if deployment.role else "mixed",
    }


def _priced(question: Question, rows: Sequence[Mapping[str, object]]) -> list[DeploymentPrice | None]:
    model, machine = question.model, question.machine
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
    settings = [{**kept[at], "batch": int(batch[at])} for at in fits]
    steps = estimate_question(question, settings)
    for place, at in enumerate(fits):
        replicas = float(str(kept[at]["data_parallel"]))
        prices[places[at]] = DeploymentPrice(
            tpot_s=float(steps.extra["tpot_s"][place]),
            ttft_s=float(steps.extra["ttft_s"][place]),
            prompts_per_s=float(steps.extra["prefill_throughput"][place]) / float(str(kept[at]["input_len"])),
            in_flight=batch[at] * replicas,
            memory_bytes=float(one[at] + (batch[at] - 1) * each[at]),
            watts=None if steps.power_w is None else float(steps.power_w[place]),
            spread=steps.spread_of(place),
        )
    return prices


def _memory(
    model: ModelSizes, machine: Machine, rows: Sequence[Mapping[str, object]], batch: int
) -> NDArray[np.float64]:
    """Bytes on the fullest device with so many requests."""
    held = memory_bytes(model, "serving", [{**row, "batch": batch} for row in rows], machine.count)
    return np.asarray(sum(held.values()))
