"""The start of a question that was measured: the best measurement as it ran, with its own number."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from kg.terms.dialects import statement
from kg.terms.meanings import programs, usual_place
from recommender.cost_model.question import Question
from recommender.cost_model.settings.dialects import translate
from recommender.ranking.measured.exact_runs import MEASURED_SO, AskedWork, ExactRun
from recommender.ranking.plan_setting import Origin, settings_by_key
from recommender.ranking.start import ExpectedValue, StartConfiguration
from recommender.ranking.starts.current_settings import with_current
from recommender.ranking.starts.flags.layout_flags import layout_settings
from recommender.ranking.starts.screening import Screen
from recommender.ranking.starts.situation import StartSituation
from recommender.ranking.starts.starts import Starts


def asked_work(
    situation: StartSituation, question: Question | None, lengths: Mapping[str, float]
) -> AskedWork:
    """The work that a measurement must agree with.

    Args:
        situation: What is asked.
        question: What layouts are priced by, with lengths that are assumed; None where they have no price.
        lengths: Of the user's own runs.
    """
    problem = situation.problem
    count = question.machine.count if question is not None else situation.devices or 1
    return AskedWork(
        model=situation.model.id,
        device=question.machine.device.id if question is not None else problem.hardware.name,
        count=count,
        phase="training" if situation.is_training else "serving",
        engine=situation.framework.id,
        sizes={**lengths, **problem.workload.shape, **(question.settings if question is not None else {})},
        traits=problem.workload.traits,
        precision=problem.workload.precision or "",
        load=situation.at_once,
        release=str(problem.software.get(situation.framework.id) or ""),
    )


def written_layout(layout: ParallelLayout, situation: StartSituation) -> dict[str, Value]:
    """Settings by which the program of a situation writes a layout."""
    settings = layout_settings(
        layout,
        situation.framework.id,
        experts=bool(situation.model.is_mixture),
        layers=situation.number("layers"),
        release=situation.framework.version,
        origin=Origin.CASE,
        source="",
    )
    return {item.key: item.value for item in settings}


def with_own_number(modelled: Starts, measured: Sequence[ExactRun]) -> Starts:
    """The starts of a question where something runs, with its own measurement if it was measured so."""
    situation = modelled.situation
    phase = "training" if situation.is_training else "serving"
    now = translate(situation.problem.current or {}, phase).settings
    run = next((run for run in measured if translate(run.configuration, phase).settings == now), None)
    if run is None or modelled.first.layout != run.layout:
        return modelled
    others = [text for text in modelled.first.because if not text.startswith(MEASURED_SO)]
    first = replace(modelled.first, because=(run.words, *others))
    return replace(modelled, first=_measured(first, run))


def as_it_ran(modelled: Starts, starts: Starts, pinned: Sequence[ExactRun], screen: Screen) -> Starts:
    """The starts of a question with its best measurement first.

    Args:
        modelled: Without it.
        starts: With its settings as what runs now.
        pinned: The measurements, best first.
        screen: Knows where settings are written.
    """
    best, first = pinned[0], starts.first
    if first.fits is False:  # it ran
        as_ran = tuple(with_current([], starts.situation, screen, is_divided=False))
        first = replace(first, fits=True, fits_in=None, settings=as_ran, needs=(), because=())
    others = [text for text in first.because if not text.startswith(MEASURED_SO)]
    first = replace(first, layout=best.layout, because=(best.words, *others))
    is_library = first.framework not in programs() or usual_place(first.framework) == SettingPlace.CODE
    if is_library:  # it takes what the script that ran it took
        own = settings_by_key(best.configuration, Origin.CASE, place=SettingPlace.CODE)
        own = [item for item in own if item.name not in first.configuration]
        told = statement({item.name: item.value for item in own}, first.framework).facts.keys()
        kept = (
            item
            for item in first.settings
            if told.isdisjoint(statement({item.name: item.value}, first.framework).facts)
        )
        first = replace(first, settings=(*kept, *own))
    known = {run.layout: run for run in reversed(pinned)}
    beside = [one for one in (modelled.first, *modelled.alternatives) if one.layout != best.layout]
    return replace(
        starts,
        situation=modelled.situation,
        first=_measured(first, best),
        alternatives=tuple(
            _measured(one, known[one.layout]) if one.layout in known else one
            for one in beside
            if one.fits is not False
        ),
        assumed=tuple(fact for fact in starts.assumed if fact.name != "precision"),
    )


def _measured(start: StartConfiguration, run: ExactRun) -> StartConfiguration:
    """A start with its own measurement in the place of its price."""
    value = ExpectedValue(
        metric=run.metric,
        unit=run.unit,
        value=run.value,
        low=run.low,
        high=run.high,
        tier="measured here",
    )
    beside = [
        replace(value, metric=name, unit=one.unit, value=one.value, low=one.low, high=one.high)
        for name, one in run.limited.items()
    ]
    others = [item for item in start.expected if item.metric not in {run.metric, *run.limited}]
    return replace(start, expected=(value, *beside, *others))
