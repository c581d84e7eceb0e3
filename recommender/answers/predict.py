"""The worth of tuning before any of it is done: gain, memory, energy and carbon, with intervals.

g: log gain in what is to improve. The recommendations bring one from cases and published effects, the
cost model another where it has settings for the change; where both speak they are weighed by their precision.
Energy and carbon follow from time and power of the cost model; without it nothing is said of them.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress

from kg.errors import InputError, MissingFactError, NoEvidenceError
from kg.nouns.entities import Kind, Problem, WorkloadKind
from kg.nouns.gain import NORMAL_90, Gain, joined_gain
from kg.terms.metrics import METRICS, priced_as
from kg.terms.units import Dimension
from recommender.answers.answer import Answer
from recommender.answers.benefit import THROUGHPUT, Benefit, Expected, Prediction, carbon_g
from recommender.cost_model.change import SettingsChange, modelled_change, modelled_gain
from recommender.cost_model.priced_step import MEMORY_SPREAD, PricedStep, price
from recommender.cost_model.question import Question
from recommender.cost_model.workloads.steps import POWER_SPREAD
from recommender.ranking.change import Change
from recommender.ranking.combination import CombinationPart, combine_gains
from recommender.ranking.measured.exact_runs import MEASURED_SO

_UNPRICED = "layouts are not priced: "
MOST_INTENSITY_G_PER_KWH = 5000.0
"""Above what any fuel emits (coal 820 g/kWh, IPCC AR5 WG3 annex III); more is a slip of units."""


def predict(answer: Answer, *, intensity_g_per_kwh: float | None) -> Prediction:
    """Estimate the value of the recommendations of an answer.

    Args:
        answer: Recommendations with their gains, and the start as the cost model was asked about it.
        intensity_g_per_kwh: Of the grid; None for no carbon.

    Raises:
        NoEvidenceError: Nothing supports any gain.
        InputError: An intensity that no grid has.
    """
    check_intensity(intensity_g_per_kwh)
    question = answer.priced
    notes_of_all = list(answer.notes)
    if question is None:
        reasons = (note.partition(_UNPRICED)[2] for note in notes_of_all if note.startswith(_UNPRICED))
        why = next(reasons, "the cost model has no price of the start")
        notes_of_all.append(f"not modelled: {why}")
    now = None if question is None else price(question)[0]
    changes = {item.id: _change(item, question, notes_of_all) for item in answer}
    benefits = [
        _benefit(
            item,
            changes[item.id],
            now,
            answer.problem,
            intensity_g_per_kwh,
            is_simulated=question is not None,
        )
        for item in answer
    ]
    supported = [item for item in benefits if item.gain is not None]
    started = _start(answer)
    if (not supported and now is None) or answer.abstention is not None:
        why = answer.abstention.reason if answer.abstention else "no case, effect or estimate of it is known"
        work = answer.problem.workload
        raise NoEvidenceError(
            f"nothing supports a prediction for {work.model or work.operator}: {why}",
            hint="measure a configuration there and ingest it, or tell more of what runs",
        )
    return Prediction(
        problem=answer.problem,
        now=now,
        benefits=tuple(benefits),
        together=_together(answer, benefits, question, now, intensity_g_per_kwh),
        intensity_g_per_kwh=intensity_g_per_kwh,
        version=answer.version,
        notes=tuple(dict.fromkeys(notes_of_all)),
        assumed=answer.assumed,
        start=started,
    )


def _start(answer: Answer) -> str:
    """The priced start of a plan, where nothing is stated to run now; with its measurement if it has one."""
    if answer.plan is None or answer.priced is None or answer.problem.current:
        return ""
    start = answer.plan.start
    named = f"{start.layout} with {start.framework} {start.version}".rstrip()
    said = (text for text in start.because if text.startswith(MEASURED_SO) and start.is_measured)
    return "; ".join([named, *said])


def check_intensity(intensity_g_per_kwh: float | None) -> None:
    """Refuse what no grid has.

    Raises:
        InputError: It is negative, no number, or beyond any fuel.
    """
    if intensity_g_per_kwh is None:
        return
    if not math.isfinite(intensity_g_per_kwh) or not 0 <= intensity_g_per_kwh <= MOST_INTENSITY_G_PER_KWH:
        raise InputError(
            f"a grid intensity of {intensity_g_per_kwh:g} gCO2/kWh",
            hint=f"expected 0 to {MOST_INTENSITY_G_PER_KWH:g} grams per kilowatt hour, such as 313",
        )


def _change(item: Change, question: Question | None, notes: list[str]) -> SettingsChange | None:
    if question is None:
        return None
    try:
        return modelled_change(question, item.configuration)
    except (InputError, MissingFactError) as refused:
        notes.append(f"{item.title}: not modelled: {refused}")
        return None


def _kinds(item: Change, change: SettingsChange | None, *, is_simulated: bool) -> Iterator[str]:
    """The kinds of evidence of a gain, such as ``measured``; a simulated gain rests on no prior."""
    if item.gain is not None:
        kinds = [support.kind for support in item.evidence if support.kind in {"timed", *map(str, Kind)}]
        named = {"timed": "measured"}
        told = dict.fromkeys(
            named.get(kind, kind) for kind in kinds if kind not in {"claimed", "winner", "target"}
        )
        yield from told or ([] if is_simulated and change is not None else ["prior"])
    if change is not None:
        yield str(Kind.MODELLED)


def _benefit(
    item: Change,
    change: SettingsChange | None,
    now: PricedStep | None,
    problem: Problem,
    intensity_g_per_kwh: float | None,
    *,
    is_simulated: bool,
) -> Benefit:
    """The value of one recommendation; a simulated gain has the cost model in it already."""
    result = priced_as(problem.objective, problem.workload.kind)
    gained = change.log_gain_in(result) if change is not None and result else None
    modelled = None if gained is None else modelled_gain(gained)
    gain = item.gain if is_simulated else joined_gain(item.gain, modelled)
    if gain is not None and item.ceiling is not None:
        gain = gain.capped(item.ceiling)
    kinds = _kinds(item, change if modelled is not None else None, is_simulated=is_simulated)
    kind = " + ".join(dict.fromkeys(kinds))
    rests = [item.basis] if item.gain is not None else []
    if change is not None:
        rests.append("cost model: " + ", ".join(f"{n} {a} -> {b}" for n, (a, b) in change.settings.items()))
        if change.after.fits is False:
            rests.append("by which it does not fit the memory")
    expected = None
    if gain is not None:
        expected = Expected(
            factor=math.exp(gain.expected), low=math.exp(gain.low), high=math.exp(gain.high), kind=kind,
            reason="; ".join(rests),
        )  # fmt: skip
    quantity = gain_quantity(problem)
    energy = _energy(gain, change, quantity)
    return Benefit(
        id=item.id,
        title=item.title,
        gain=expected,
        quantity=quantity,
        memory=_memory(change, rests[-1] if rests else ""),
        energy=energy,
        carbon_g=_saved(energy, now, intensity_g_per_kwh),
        rests_on=tuple(rests),
    )


def _memory(change: SettingsChange | None, reason: str) -> Expected | None:
    """Factor of memory; what does not change has no spread."""
    if change is None:
        return None
    spread = min(MEMORY_SPREAD, abs(change.log_memory))
    return Expected.of(change.log_memory, spread, str(Kind.MODELLED), reason)


def gain_quantity(problem: Problem) -> str:
    """The quantity of a question's gains: throughput where time and throughput are one, else its metric."""
    kind, objective = problem.workload.kind, problem.objective
    if kind is WorkloadKind.KERNEL:
        listed = METRICS.get(objective.metric)
        is_speed = listed is None or listed.dimension in {Dimension.TIME, Dimension.RATE}
        return THROUGHPUT if is_speed else objective.metric
    return priced_as(objective, kind) or objective.metric


def _energy(gain: Gain | None, change: SettingsChange | None, quantity: str) -> Expected | None:
    """Factor of energy per unit of work: power may change, and what is done in less time takes less.

    A gain in another quantity than throughput says nothing of it: there the cost model speaks alone.
    """
    if quantity != THROUGHPUT:
        if change is None or change.log_energy is None:
            return None
        spread = math.hypot(modelled_gain(change.log_gain).deviation, POWER_SPREAD)
        return Expected.of(change.log_energy, spread, str(Kind.MODELLED), "time and power of the cost model")
    if gain is None:
        return None
    spread = gain.deviation
    if change is None or change.log_energy is None:
        reason = "power is taken as unchanged"
        return Expected.of(-gain.expected, math.hypot(spread, POWER_SPREAD), str(Kind.MODELLED), reason)
    drawn = change.log_energy + change.log_gain  # the ratio of powers
    shared = min(POWER_SPREAD, abs(drawn))
    return Expected.of(
        drawn - gain.expected, math.hypot(spread, shared), str(Kind.MODELLED), "power of the cost model"
    )


def _saved(
    energy: Expected | None, now: PricedStep | None, intensity_g_per_kwh: float | None
) -> tuple[float, float, float] | None:
    """Grams saved per million units: expected, least, most; of a baseline that is itself uncertain."""
    total = None if now is None else carbon_g(now, intensity_g_per_kwh)
    if energy is None or total is None or now is None:
        return None
    spread = math.hypot(now.spread, POWER_SPREAD)
    least, most = sorted((1 - energy.low, 1 - energy.high))
    low, high = (math.exp(sign * NORMAL_90 * spread) for sign in (-1, 1))
    return (
        round(total * (1 - energy.factor), 4),
        round(total * least * (high if least < 0 else low), 4),
        round(total * most * (low if most < 0 else high), 4),
    )


def _together(
    answer: Answer,
    benefits: Sequence[Benefit],
    question: Question | None,
    now: PricedStep | None,
    intensity_g_per_kwh: float | None,
) -> Benefit | None:
    """All that can be set together: gains without what overlaps, memory of all their settings at once."""
    both = answer.together
    if both is None:
        return None
    chosen = [item for item in answer if item.id in both.ids]
    by_id = {item.id: item for item in benefits}
    parts = []
    for item in chosen:
        told = by_id[item.id].gain
        if told is not None:
            share = answer.problem.bottlenecks.get(item.bottleneck) if item.bottleneck else None
            parts.append(
                CombinationPart(
                    id=item.id,
                    bottleneck=item.bottleneck or both.kinds.get(item.id, item.id),
                    gain=Gain(
                        expected=math.log(told.factor), low=math.log(told.low), high=math.log(told.high)
                    ),
                    share=float(share) if isinstance(share, int | float) else None,
                )
            )
    gain = combine_gains(parts)
    modelled = None
    if question is not None:
        settings = {name: value for item in chosen for name, value in item.configuration.items()}
        with suppress(InputError, MissingFactError):
            modelled = modelled_change(question, settings)
    kinds = dict.fromkeys(
        kind for item in chosen if (t := by_id[item.id].gain) for kind in t.kind.split(" + ")
    )
    quantity = gain_quantity(answer.problem)
    energy = _energy(gain, modelled, quantity)
    return Benefit(
        id="",
        title=f"{len(chosen)} together",
        quantity=quantity,
        gain=Expected(
            factor=math.exp(gain.expected), low=math.exp(gain.low), high=math.exp(gain.high),
            kind=" + ".join(kinds), reason="gains of the parts, without what overlaps",
        ),
        memory=_memory(modelled, "all settings at once"),
        energy=energy,
        carbon_g=_saved(energy, now, intensity_g_per_kwh),
        rests_on=tuple(item.title for item in chosen),
    )  # fmt: skip
