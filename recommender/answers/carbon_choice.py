"""Configuration and start time chosen together, for the least carbon.

Each configuration has its own duration and energy, so its own best start: E_c I(start, duration_c) is least
under the deadline, the cost and the power. Energies are the cost model's; a lower clock or a power cap
follows the shipped curves, where users of the device can set it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from ingest.formats.meters.table import Knowledge
from kg.errors import InfeasibleError, InputError, MissingFactError
from kg.nouns.codec import JsonNoun, in_json
from kg.terms.units import J_PER_KWH
from kg.triples.hardware_tree import HardwareTree
from recommender.answers.answer import Answer
from recommender.cost_model.change import modelled_change
from recommender.cost_model.priced_step import PricedStep, price
from recommender.cost_model.question import Question
from recommender.green.indices import (
    CarbonEffects,
    WeighedChoice,
    carbon_efficiency,
    effects_apart,
    weigh,
)
from recommender.green.outlook import GridOutlook
from recommender.green.plan import GreenJob, GreenPlan
from recommender.green.planner import make_plan
from recommender.green.power_curve import PowerStep, cap_steps, clock_steps, shipped_curve

MOST_COST = 1.10
"""Device hours of a choice over those of the start: a choice, nothing measures what carbon may cost."""


_TIERS = {
    Knowledge.MODELLED: "power is modelled, with a spread of a quarter",
    Knowledge.ASSUMED: "power is assumed nominal, whatever runs: compare the shares, not the grams",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CarbonOption:
    """A configuration with its best start.

    Attributes:
        name: The start configuration, or it with a change.
        clock: Share of the highest clock.
        cap_w: Power cap of a device, watt; None for none.
        duration_s: Of the job.
        energy_kwh: Of the job, all devices.
        power_w: Of one device.
        cost: Device hours over those of the start.
        carbon_g: Gram CO2 as planned.
        efficiency: Units of work per gram (CER).
        unit: Unit of work.
        effects: Against the start configuration run at once, energy and intensity apart.
        plan: When it runs.
        tier: How the power is known.
        score: Weighted sum of speed and of carbon saved, each relative to the start run at once.
    """

    name: str
    clock: float
    duration_s: float
    energy_kwh: float
    power_w: float
    cost: float
    carbon_g: float
    efficiency: float
    unit: str
    effects: CarbonEffects
    plan: GreenPlan
    tier: Knowledge
    cap_w: float | None = None
    score: float = 0.0

    def to_json(self) -> dict[str, object]:
        """The option for programs."""
        return {
            "configuration": self.name,
            "clock_share": round(self.clock, 3),
            "power_cap_w": self.cap_w,
            "start": self.plan.start.isoformat(timespec="seconds"),
            "end": self.plan.pieces[-1][1].isoformat(timespec="seconds"),
            "duration_s": round(self.duration_s),
            "energy_kwh": round(self.energy_kwh, 4),
            "power_w": round(self.power_w, 1),
            "cost_factor": round(self.cost, 3),
            "carbon_g": round(self.carbon_g, 1),
            "work_per_gram": {"value": float(f"{self.efficiency:.4g}"), "unit": f"{self.unit}/g"},
            "log_effects": {
                "energy": round(self.effects.log_energy, 5),
                "intensity": round(self.effects.log_intensity, 5),
                "carbon": round(self.effects.log_carbon, 5),
            },
            "saving": round(self.plan.saving, 4),
            "power_tier": str(self.tier),
            "score": round(self.score, 4),
        }


def _refused(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"configuration": name, "because": why} for name, why in pairs]


@dataclass(frozen=True, slots=True, kw_only=True)
class CarbonChoice(JsonNoun):
    """Options, best first.

    Attributes:
        options: In order of their scores.
        refused: Configurations that break a limit, with the reason.
        notes: Assumptions.
        weights: Of speed (alpha) and of carbon (beta) in the scores.
    """

    weights: tuple[float, float] = field(
        default=(0.0, 1.0), metadata=in_json(write=lambda pair: {"alpha": pair[0], "beta": pair[1]})
    )
    options: tuple[CarbonOption, ...]
    refused: tuple[tuple[str, str], ...] = field(metadata=in_json(write=_refused))
    notes: tuple[str, ...]


def choose_for_carbon(
    answer: Answer,
    tree: HardwareTree,
    outlook: GridOutlook,
    *,
    now: datetime,
    deadline: datetime,
    duration_s: float,
    region: str,
    power_limit_w: float | None = None,
    weights: tuple[float, float] = (0.0, 1.0),
) -> CarbonChoice:
    """The options of an answer for a job that lasts ``duration_s`` in the answer's start configuration.

    Args:
        answer: Start and changes.
        tree: Facts of hardware.
        outlook: Expected intensity.
        now: The present.
        deadline: When the job has to be done.
        duration_s: How long it runs in the start configuration.
        region: Of the grid.
        power_limit_w: Greatest power of a device.
        weights: Of speed and of carbon, each relative to the start run at once.

    Raises:
        InputError: The weights are none.
        MissingFactError: The start has no modelled energy, or the grid no forecast or no emissions.
        InfeasibleError: No option meets the limits.
    """
    priced = answer.priced
    if priced is None:
        raise MissingFactError(
            "the start has no modelled time, so no energy", hint="give --model, --hardware and --count"
        )
    base, tier = _with_power(price(priced)[0], answer, tree)
    if not len(outlook.g_per_kwh):
        raise MissingFactError(
            f"no carbon intensity: {outlook.basis}", hint="tunegraph green import FILE --region NAME"
        )
    path = tree.path(answer.problem.hardware.name)
    nominal = tree.facts(answer.problem.hardware.name).get("tdp_w")
    steps = clock_steps(path)
    notes = [*outlook.notes, _TIERS[tier]]
    if steps:
        notes += [
            f"{what} follow curves of {one.devices}, {one.error_percent:g} % off"
            for what, one in (("lower clocks", shipped_curve("clock")), ("power caps", shipped_curve("cap")))
        ]
    else:
        notes.append("no curve of energy over the clock is public for this vendor: full clocks alone")
    job = GreenJob(duration_s=duration_s, deadline=deadline)
    at_once = make_plan(job, outlook, now, region=region)
    once_g_per_kwh = at_once.once_g_per_kwh or 0.0
    if not once_g_per_kwh > 0:
        raise MissingFactError(
            "the grid is expected to emit nothing now, or no forecast is long enough", hint="start at once"
        )
    work = base.throughput * duration_s
    base_energy_j = work * (base.energy_per_unit_j or 0.0)
    options: list[CarbonOption] = []
    refused: list[tuple[str, str]] = []
    for name, step, point in _points(
        answer, priced, base, lambda power_w: (*steps, *cap_steps(path, power_w, nominal, power_limit_w))
    ):
        if point.power_w is None or point.energy_per_unit_j is None:
            refused.append((name, "its energy is not modelled"))
            continue
        lasts = work / point.throughput
        energy_j = work * point.energy_per_unit_j
        cost = lasts / duration_s
        if cost > MOST_COST:
            refused.append(
                (name, f"costs {cost - 1:.0%} more device hours; {MOST_COST - 1:.0%} is the limit")
            )
            continue
        if power_limit_w is not None and point.power_w > power_limit_w:
            refused.append((name, f"draws {point.power_w:.0f} W of {power_limit_w:g} W a device"))
            continue
        try:
            plan = make_plan(replace(job, duration_s=lasts), outlook, now, region=region)
        except InfeasibleError as fault:
            refused.append((name, str(fault)))
            continue
        intensity = (plan.once_g_per_kwh or once_g_per_kwh) * (1 - plan.saving)
        options.append(
            CarbonOption(
                name=name,
                clock=step.clock if step else 1.0,
                cap_w=step.cap_w if step else None,
                duration_s=lasts,
                energy_kwh=energy_j / J_PER_KWH,
                power_w=point.power_w,
                cost=cost,
                carbon_g=energy_j / J_PER_KWH * intensity,
                efficiency=carbon_efficiency(point.energy_per_unit_j, intensity),
                unit=point.unit.partition("/")[0],
                effects=effects_apart((base_energy_j, energy_j), (once_g_per_kwh, intensity)),
                plan=plan,
                tier=tier,
            )
        )
    if not options:
        raise InfeasibleError(
            "no configuration meets the limits", hint="; ".join(f"{a}: {b}" for a, b in refused[:3])
        )
    at_start = WeighedChoice(
        name="", throughput=base.throughput, carbon_g=base_energy_j / J_PER_KWH * once_g_per_kwh
    )
    weighed = [
        WeighedChoice(name=str(place), throughput=work / item.duration_s, carbon_g=item.carbon_g)
        for place, item in enumerate(options)
    ]
    scored = weigh([at_start, *weighed], alpha=weights[0], beta=weights[1])
    return CarbonChoice(
        options=tuple(replace(options[int(item.name)], score=score) for score, item in scored if item.name),
        refused=tuple(refused),
        notes=tuple(notes),
        weights=weights,
    )


def _with_power(base: PricedStep, answer: Answer, tree: HardwareTree) -> tuple[PricedStep, Knowledge]:
    """The start with its power: modelled, else assumed to be the nominal power of its devices."""
    if base.power_w is not None and base.energy_per_unit_j is not None:
        return base, Knowledge.MODELLED
    device = answer.problem.hardware
    nominal = tree.facts(device.name).get("tdp_w")
    if not isinstance(nominal, int | float):
        raise MissingFactError(
            f"no power of {device.name} is known", hint="tunegraph kb add hardware FILE, with tdp_w"
        )
    energy = nominal * (device.count or 1) / base.throughput
    return _changed(base, power_w=float(nominal), energy_per_unit_j=energy), Knowledge.ASSUMED


def _points(
    answer: Answer, priced: Question, base: PricedStep, steps: Callable[[float], Sequence[PowerStep]]
) -> Iterator[tuple[str, PowerStep | None, PricedStep]]:
    """The start, it with each change that the cost model knows, and each at lower clocks and under caps."""
    found = [("start", base)]
    for item in answer.recommendations:
        try:
            change = modelled_change(priced, item.configuration)
        except (InputError, MissingFactError):
            continue
        if change is not None and change.after.fits is not False:
            found.append(
                (f"start with {item.strategy or item.title}", _scaled(base, change.before, change.after))
            )
    for name, point in found:
        yield name, None, point
        if point.power_w is None or point.energy_per_unit_j is None:
            continue
        for step in steps(point.power_w):
            slower = _changed(
                point,
                throughput=point.throughput / step.time,
                power_w=point.power_w * step.power,
                energy_per_unit_j=point.energy_per_unit_j * step.energy,
            )
            yield f"{name}, {step.label}", step, slower


def _scaled(base: PricedStep, before: PricedStep, after: PricedStep) -> PricedStep:
    """The start with a change: what the change does to its own before, done to the start."""

    def ratio(one: float | None, two: float | None) -> float | None:
        return None if one is None or two is None or not one > 0 else two / one

    power = ratio(before.power_w, after.power_w)
    energy = ratio(before.energy_per_unit_j, after.energy_per_unit_j)
    faster = after.throughput / before.throughput
    changed = {"throughput": base.throughput * faster}
    if base.power_w is not None:  # where power is no known fact it is taken as unchanged
        changed["power_w"] = base.power_w * (1.0 if power is None else power)
    if base.energy_per_unit_j is not None:
        changed["energy_per_unit_j"] = base.energy_per_unit_j * (energy or 1 / faster)
    return _changed(base, **changed)


def _changed(step: PricedStep, **results: float) -> PricedStep:
    return replace(step, results={**step.results, **results})
