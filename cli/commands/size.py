"""``tunegraph size``: the devices that a rate of requests needs, or the deployments worth considering."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.context import open_workspace, with_defaults
from cli.options import JsonOption, NumberOption
from cli.output import say
from cli.problem_options import ProblemOptions, asks
from kg.errors import InputError
from kg.nouns.entities import WorkloadKind
from kg.nouns.gain import NORMAL_90
from kg.nouns.situation import assumption_line

if TYPE_CHECKING:
    from kg.nouns.entities import Problem
    from recommender.answers.capacity import Capacity, CapacityOption, CapacityRequest

_PER = {"": 1.0, "s": 1.0, "min": 1 / 60, "h": 1 / 3600, "d": 1 / 86400}
_RATE = re.compile(r"\s*((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*+(?:/\s*+(s|min|h|d))?\s*$")


RateOption = Annotated[
    str, typer.Option("--rate", help="Requests to serve, as 20/s or 900/min: the fewest devices that do.")
]
ParetoOption = Annotated[
    bool,
    typer.Option("--pareto", help="Best trade-offs of throughput per device, token time, devices."),
]
PriceOption = Annotated[str, typer.Option("--price", help="Price of a device, as 2.5/h, for the cost.")]


@asks("operator")
def size(
    context: typer.Context,
    question: ProblemOptions,
    rate: RateOption = "",
    pareto: ParetoOption = False,
    price: PriceOption = "",
    k: NumberOption = 5,
    as_json: JsonOption = False,
) -> None:
    """Size a service: the devices for a rate, or the best trade-offs.

    Of training it says whether it fits.

    Example: tunegraph size --model qwen3-32b --phase serving --hardware 910B3 --rate 20/s
    """
    with open_workspace(context) as workspace:
        raw = question.raw()
        if (rate or pareto) and not raw.get("phase"):
            raw["phase"] = "serving"  # which alone has a rate
        problem, notes = workspace.problem(with_defaults(context, workspace, raw))
        if problem.workload.kind is WorkloadKind.TRAINING and not (rate or pareto):
            say(workspace.ask.training_fit(problem))
            return
        wanted = capacity_request(rate, price, pareto=pareto)
        found = workspace.ask.capacity(problem, wanted, notes=notes)
    show_capacity(problem, wanted, found, most=k, as_json=as_json)


def capacity_request(rate: str, price: str, *, pareto: bool) -> CapacityRequest:
    """The request: a rate in requests a second, a price an hour.

    Raises:
        InputError: One of them is none, or a rate is asked for as well as all deployments.
    """
    from recommender.answers.capacity import CapacityRequest

    if rate and pareto:
        raise InputError("--rate and --pareto: one of them; --rate gives the fewest devices for a rate")
    if not (rate or pareto):
        raise InputError("nothing to size: add --rate or --pareto", hint="--rate 20/s")
    per_s = _number("--rate", rate, "20/s or 900/min") if rate else None
    # a price without a unit is that of an hour
    hour = _number("--price", price if "/" in price else f"{price}/h", "2.5/h") * 3600 if price else None
    return CapacityRequest(rate_per_s=per_s, price_per_hour=hour)


def _number(option: str, text: str, example: str) -> float:
    found = _RATE.match(text)
    value = float(found[1]) * _PER[found[2] or ""] if found else 0.0
    if not 0 < value < float("inf"):
        raise InputError(f"{option} {text!r}: expected a positive number such as {example}")
    return value


def show_capacity(
    problem: Problem, request: CapacityRequest, capacity: Capacity, *, most: int, as_json: bool
) -> None:
    """Print deployments; exit with 4 where none keeps the limits.

    Raises:
        Exit: With code 4, after the deployment that comes nearest.
    """
    if as_json:
        output.as_json(capacity.to_json())
    else:
        if line := assumption_line(capacity.assumed):
            output.note(line)
        for text in capacity.notes:
            output.note(text)
        _show(problem, request, capacity, most)
    if not capacity.options:
        if as_json:
            output.note("no deployment keeps the limits; nearest is the one that comes closest; exit code 4")
        raise typer.Exit(4)


def _show(problem: Problem, request: CapacityRequest, capacity: Capacity, most: int) -> None:
    work = problem.workload
    limits = ", ".join(
        f"{item.metric} <= {output.quantity(item.maximum, item.unit)}" for item in problem.limits
    )
    rate = f", {request.rate_per_s:g} requests/s" if request.rate_per_s is not None else ""
    shape = f" ({work.shape})" if work.shape else ""
    say(f"{work.model} serve{shape} on {problem.hardware.name}{rate}{', ' + limits if limits else ''}\n")
    if not capacity.options:
        one = capacity.nearest
        if one is not None and one.is_short:
            served = one.fleet.instances * one.rated.requests_per_s
            say(
                f"No {one.fleet.instances} instances serve that rate. Nearest: {one.rated.deployment.layout},"
                f" {one.devices} devices, {served:,.0f} requests/s."
            )
        elif one is not None:
            say(
                f"No deployment keeps the limits. Nearest: {one.rated.deployment.layout},"
                f" {one.devices} devices, {one.rated.deployment.concurrency:g} at once,"
                f" TPOT {output.quantity(one.rated.tpot_s, 's')}, "
                f"TTFT {output.quantity(one.rated.ttft_s, 's')}: {one.chance:.0%} likely to keep them."
            )
        return
    options = capacity.options[:most]
    if request.rate_per_s is not None:
        first = options[0]
        layout = first.rated.deployment.layout
        parts = [
            _instances(first) if first.fleet.instances > 1 or layout.devices > 1 or first.prefill else "",
            "" if first.price_per_million is None else f"{first.price_per_million:.3g} a million tokens",
        ]
        said = ", ".join(part for part in parts if part)
        plan = f"Plan for {first.devices} x {problem.hardware.name} ({first.chance:.0%} sure)"
        say(f"{plan}: {said}." if said else f"{plan}.")
        even = min(item.even_devices for item in capacity.options)
        if even < first.devices:
            few = f"{even} {'has' if even == 1 else 'have'} an even chance"
            read = f"RESULT.json --from-command SCRIPT --hardware {problem.hardware.name}"
            say(f"{few}; three timed runs narrow this: tunegraph ingest {read}.")
        say()
    rows = [_cells(item) for item in options]
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    output.table(["", *names], ([place, *map(row.get, names)] for place, row in enumerate(rows, 1)))
    factor = math.exp(NORMAL_90 * max(item.rated.spread for item in options))
    say(f"\nThroughput, times and what follows: modelled, within a factor of {factor:.2g} (90 %).")
    if len(capacity.options) > most:
        say(f"{len(capacity.options) - most} more: -k {min(len(capacity.options), 50)} lists them.")
    for limit in capacity.unchecked:
        say(f"Not checked: {limit.metric} <= {output.quantity(limit.maximum, limit.unit)}.")


def _instances(item: CapacityOption) -> str:
    """The instances by layout; those that prefill first, where they are apart."""
    fleets = [("prefill ", item.prefill), ("decode ", item.fleet)] if item.prefill else [("", item.fleet)]
    return " + ".join(
        name + (f"{one.instances} x " if one.instances > 1 else "") + str(one.rated.deployment.layout)
        for name, one in fleets
    )


def _cells(item: CapacityOption) -> dict[str, str]:
    """Cells of a deployment's row, by column; empty where there is nothing to show."""
    rated, price, energy = item.rated, item.price_per_million, item.watt_hours_per_million
    pace = item.throughput_per_device
    return {
        "devices": f"{item.devices}",
        "layout": _instances(item),
        "at once": f"{rated.deployment.concurrency:g}",
        "tokens/s/device": f"{pace:,.0f}" if pace >= 1000 else f"{pace:.4g}",
        "TPOT": output.quantity(float(f"{rated.tpot_s:.3g}"), "s") if rated.tpot_s else "",
        "TTFT": output.quantity(float(f"{item.times['ttft']:.3g}"), "s"),
        "chance": f"{item.chance:.0%}",
        "price/M": "" if price is None else f"{price:.3g}",
        "Wh/M": "" if energy is None else f"{energy:.3g}",
    }
