"""The measured run that a start copies: the fastest of its layout, and the settings that it had beside."""

from collections.abc import Container, Sequence

from kg.terms.meanings import kind_of
from kg.terms.purposes import Purpose, plain_key, purpose
from kg.terms.setting_registry import ReleaseSettings
from recommender.cost_model.measured.step_place import StepPlace
from recommender.ranking.measured.measured_run import MeasuredRun
from recommender.ranking.plan_setting import Origin, PlanSetting, settings_by_key

_OF_LOAD = frozenset({"batch", "length"})
"""Kinds of what a setting counts that belong to the load of a run, not to another question."""


def runs_of(place: StepPlace, runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """The runs of a layout on the same device and engine, nearest load and lengths first."""
    alike = [
        run
        for run in runs
        if (run.place.device, run.place.layout) == (place.device, place.layout)
        and run.place.engine in {"", place.engine}
    ]

    def apart(run: MeasuredRun) -> float:
        lengths = zip(run.place.lengths, place.lengths, strict=True)
        return abs(run.place.load - place.load) + sum(abs(one - other) for one, other in lengths)

    return sorted(alike, key=apart)


def case_settings(
    run: MeasuredRun, release: ReleaseSettings | None, gone: Container[str] = ()
) -> list[PlanSetting]:
    """Settings of a run that the release accepts, beside its layout and its load.

    Args:
        run: The run.
        release: Of the program that is started; None where none ships.
        gone: Plain keys of what the asked launch has and shall not have any more.
    """
    if release is None:
        return []
    found = []
    for name, value in run.trial.configuration.items():
        taken = release.look_up(name, suggest=False)
        if taken.setting is None or not taken.usable or taken.is_default(value):
            continue
        if plain_key(taken.setting.key) in gone:
            continue
        if purpose(name) is Purpose.TUNING and kind_of(name) not in _OF_LOAD:
            given = {taken.setting.key: value}
            found += settings_by_key(given, Origin.CASE, run.source, taken.setting.place)
    return found


def describe_run(run: MeasuredRun, number: int) -> str:
    """A run in a line, with how many others correct the price."""
    names = ("TP", "PP", "CP")
    sizes = [f"{name} {2**size:.0f}" for name, size in zip(names, run.place.layout, strict=False) if size]
    if run.place.layout[-1]:
        sizes.append("experts spread")
    measured = run.trial.measurement
    value = measured.value or 0.0
    value_text = f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
    counted = "micro-batch" if "micro_batch" in run.settings else "at once"
    load = f"{2**run.place.load:.0f}"
    load = f"{counted} {load}" if counted == "micro-batch" else f"{load} {counted}"
    where = " x ".join(sizes) or "one device"
    others = f"; {number} runs of this model correct its price" if number > 1 else ""
    what = "" if measured.metric == "throughput" else f"{measured.metric} "
    said = f"{run.trial.kind}: {what}{value_text} {measured.unit} with {where}, {load}, on {run.place.device}"
    return f"{said}{others} <{run.source}>"
