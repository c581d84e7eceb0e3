"""``tunegraph predict``: what tuning would bring, before any of it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.context import open_workspace, server_of, with_defaults
from cli.options import JsonOption
from cli.output import say
from cli.problem_options import ProblemOptions, asks
from cli.text.language import localised
from kg.nouns.situation import assumption_line

if TYPE_CHECKING:
    from recommender.answers.benefit import Benefit, Expected, Prediction


@asks("operator", "server")
def predict(
    context: typer.Context,
    question: ProblemOptions,
    server: Annotated[
        str | None,
        typer.Option(
            "--server", help="Server type, such as atlas-800t-a2, or which of several launches of a script."
        ),
    ] = None,
    intensity: Annotated[
        float | None,
        typer.Option("--intensity", min=0, help="Carbon intensity of the grid, gCO2 per kWh: adds carbon."),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=50, help="How many recommendations at most.")] = 5,
    as_json: JsonOption = False,
) -> None:
    """Predict what tuning would gain, before any of it is done.

    Example: tunegraph predict --model llama-2-7b --phase training --hardware 910B3 --count 8
    """
    from cli import output

    raw = question.raw()
    with open_workspace(context) as workspace:
        problem, notes = workspace.problem(with_defaults(context, workspace, raw))
        prediction = workspace.ask.predict(
            problem,
            k,
            server=server_of(context, server, question.hardware),
            intensity_g_per_kwh=intensity,
            notes=notes,
        )
    if as_json:
        output.as_json(prediction.to_json())
    else:
        show(prediction)


def show(prediction: Prediction) -> None:
    """Print a prediction for people."""
    from cli import output

    for text in prediction.notes:
        output.note(text)
    problem, now = prediction.problem, prediction.now
    where = problem.hardware.name
    counted = f"{problem.hardware.count} x {where}" if problem.hardware.count else where
    say(f"{problem.workload.model} {problem.workload.operator} on {counted}, by {problem.objective.metric}")
    if line := assumption_line(prediction.assumed):
        say(line)
    say()
    if now is None:
        say("now          not modelled")
    else:
        low, high = _interval(now.throughput, now.spread)
        rates = [output.figure(value) for value in (now.throughput, low, high)]
        if prediction.start:
            say(f"start        {prediction.start}")
        label = "" if prediction.start else "now"
        say(f"{label:<13}{rates[0]} {now.unit} ({rates[1]} to {rates[2]}), modelled")
        held = output.quantity(now.memory_bytes, "B")
        of = "" if now.capacity_bytes is None else f" of {output.quantity(now.capacity_bytes, 'B')}"
        say(f"             {held}{of} a device" + ("" if now.fits is not False else ": does not fit"))
        if now.power_w is not None and now.energy_per_unit_j is not None:
            per = f"{now.energy_per_unit_j:.3g} J a {_unit(now.unit)}"
            say(f"             {now.power_w:.0f} W a device, {per}")
        else:
            say("             energy unknown: idle or full-load power of this device is unpublished")
    for place, item in enumerate(prediction.benefits, 1):
        say(f"\n{place}. {item.title}   [{item.id}]")
        _show(item, now.unit if now else "")
    if prediction.together is not None:
        say(f"\n{prediction.together.title}: {', '.join(map(localised, prediction.together.rests_on))}")
        _show(prediction.together, now.unit if now else "")


def _show(item: Benefit, unit: str) -> None:
    from recommender.answers.benefit import THROUGHPUT

    first = item.quantity if item.quantity == THROUGHPUT else f"{item.quantity} gain"
    for name, gain in ((first, item.gain), ("memory", item.memory), ("energy", item.energy)):
        if gain is not None:
            say(f"   {name:<12}{_factor(gain)}, {gain.kind}")
        elif name == first:
            say(f"   {name:<12}unknown: no evidence supports a figure")
    if item.carbon_g is not None:
        expected, low, high = item.carbon_g
        each = f"a million {_unit(unit)}s"
        say(f"   {'carbon':<12}{expected:.3g} g saved ({low:.3g} to {high:.3g}) {each}, modelled")
    if item.gain is not None:
        say(f"   {'rests on':<12}{item.gain.reason}")


def _factor(gain: Expected) -> str:
    return f"{gain.factor:.2f}x ({gain.low:.2f} to {gain.high:.2f})"


def _interval(value: float, spread: float) -> tuple[float, float]:
    import math

    from kg.nouns.gain import NORMAL_90

    reach = math.exp(NORMAL_90 * spread)
    return value / reach, value * reach


def _unit(unit: str) -> str:
    """``output tokens/s`` gives ``token``."""
    return unit.partition("/")[0].rpartition(" ")[2].removesuffix("s") or "unit"
