"""``tunegraph ab``: A/B tests that may be watched: run one, record one made elsewhere, show it, plan it."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.late import LateTyper
from cli.options import PLACEHOLDER, JsonOption
from cli.values import pairs, share, span_s
from kg.errors import InputError

if TYPE_CHECKING:
    from kg.nouns.values import Settings
    from recommender.experiment.impact import Prices

app = LateTyper(
    name="ab",
    help="A/B tests that you may watch; outcomes teach the graph.",
    add_completion=False,
)

ControlOption = Annotated[
    str,
    typer.Option(
        "--control", help="Settings now, as name=value,...; a whole command where --command is not given."
    ),
]
TreatmentOption = Annotated[
    list[str] | None,
    typer.Option("--treatment", help="Settings to try; repeat it to compare several with one control."),
]
AlphaOption = Annotated[
    float, typer.Option("--alpha", min=1e-6, max=0.2, help="Chance that a verdict is wrong.")
]
MarginOption = Annotated[
    str, typer.Option("--margin", help="Differences smaller than this do not matter: 1% or 0.01.")
]
GuardOption = Annotated[
    list[str] | None,
    typer.Option("--guard", help="What must not get worse: 'peak_memory<=+5%', 'accuracy_loss<=0.002'."),
]
MetricOption = Annotated[
    list[str] | None,
    typer.Option("--metric", help="Path into printed JSON, step_time=timing.mean:ms; the first decides."),
]
PatternOption = Annotated[
    list[str] | None,
    typer.Option("--pattern", help=r"The same by regular expression: 'step_time:ms=step (\S+) ms'."),
]
BetterOption = Annotated[
    str, typer.Option("--better", help="lower or higher, if the metric's name does not say.")
]
NameOption = Annotated[str, typer.Option("--name", help="Name of the test; generated if not given.")]
AllowValueOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-value", help="Allow this value of a case, though it is not a plain word or number."
    ),
]
RecommendationOption = Annotated[
    str, typer.Option("--recommendation", help="Id of the recommendation under test; it gets the outcome.")
]
ProblemOption = Annotated[
    Path | None, typer.Option("--problem", help="Problem file: what this runs on, so that the graph learns.")
]
StrategyOption = Annotated[str, typer.Option("--strategy", help="Id of the strategy under test.")]
HoursOption = Annotated[
    float | None,
    typer.Option("--device-hours", min=0, help="Device hours of the work now; prints the saving."),
]
PriceOption = Annotated[float | None, typer.Option("--price", min=0, help="Price of a device hour.")]
CurrencyOption = Annotated[str, typer.Option("--currency", help="Currency of the price.")]
PowerOption = Annotated[
    float | None, typer.Option("--power", min=0, help="Power of a device under this work, in watts.")
]
IntensityOption = Annotated[float | None, typer.Option("--intensity", min=0, help="Grams of CO2e per kWh.")]
TellOption = Annotated[
    bool, typer.Option("--tell/--no-tell", help="Record the outcome in the graph if the problem is known.")
]


@app.command()
def run(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(help="After --: program and arguments, {name} for a setting.", show_default=False),
    ] = None,
    control: ControlOption = "",
    treatment: TreatmentOption = None,
    command: Annotated[
        str, typer.Option("--command", help="One text for the shell, {name} for a setting.")
    ] = "",
    metric: MetricOption = None,
    pattern: PatternOption = None,
    better: BetterOption = "",
    guard: GuardOption = None,
    alpha: AlphaOption = 0.01,
    margin: MarginOption = "1%",
    most: Annotated[int, typer.Option("--pairs", min=1, help="Pairs at most.")] = 200,
    time: Annotated[str, typer.Option("--time", help="Time of all runs at most: 90s, 30min, 2h.")] = "",
    warmup: Annotated[int, typer.Option("--warmup", min=0, help="First rounds that do not count.")] = 1,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Runs of an arm in each round.")] = 1,
    drop: Annotated[int, typer.Option("--drop", min=0, help="Runs after each switch that do not count.")] = 0,
    given: Annotated[
        list[str] | None, typer.Option("--input", help="Values of other placeholders; repeat it for several.")
    ] = None,
    timeout: Annotated[str, typer.Option("--timeout", help="Time limit of one run.")] = "600s",
    folder: Annotated[Path, typer.Option("--folder", help="Where the command runs.")] = Path(),
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Seed of the order; drawn if not given.")
    ] = None,
    name: NameOption = "",
    resume: Annotated[str, typer.Option("--resume", help="Resume an experiment by its name.")] = "",
    self_test: Annotated[
        bool, typer.Option("--self-test", help="Run the control twice: a test of the set-up.")
    ] = False,
    recommendation: RecommendationOption = "",
    problem: ProblemOption = None,
    strategy: StrategyOption = "",
    allow_value: AllowValueOption = None,
    device_hours: HoursOption = None,
    price: PriceOption = None,
    currency: CurrencyOption = "",
    power: PowerOption = None,
    intensity: IntensityOption = None,
    tell: TellOption = True,
    as_json: JsonOption = False,
) -> None:
    """Run interleaved pairs until there is a verdict.

    The order is random; it stops when the budget is used up.

    Example: tunegraph ab run --control batch=32 --treatment batch=64 -- python train.py --batch {batch}
    """
    from cli.ab import running
    from recommender.experiment.design import ExperimentDesign, Guard
    from recommender.experiment.metadata import Runs
    from recommender.experiment.preparing import PreparedTest, arms_of, with_flags

    prices = _prices(device_hours, price, currency, power, intensity)
    if resume:
        logged = running.experiments(context).find(resume)
        running.run(context, logged, prices, tell=tell, as_json=as_json)
        return
    subject = running.subject_of(context, recommendation, problem, strategy)
    is_command = bool(command or words)
    if command and words:
        raise InputError("a command is given twice", hint="either --command or what stands after --")
    if PLACEHOLDER in f"{command} {' '.join(words or ())}":
        raise InputError(f"--command: {PLACEHOLDER} stands for the benchmark that you run", hint="name yours")
    first = _settings(control, "--control", is_command=is_command)
    tried = [_settings(text, "--treatment", is_command=is_command) for text in treatment or ()]
    runs = Runs.reading(
        tuple(words) if words else command or None,
        metric or (),
        pattern or (),
        better=better,
        folder=folder,
        timeout_s=span_s(timeout),
    )
    deciding = runs.readings[0]
    design = ExperimentDesign(
        metric=deciding.metric,
        better=deciding.better,
        unit=deciding.objective.unit,
        arms=arms_of(first, [first] if self_test else tried, subject, allow_value or ()),
        alpha=alpha,
        margin=share("--margin", margin),
        guards=tuple(map(Guard.parse, guard or ())),
        pairs=most,
        budget_s=span_s(time) if time else None,
        warmup=warmup,
        repeats=repeats,
        drop=drop,
        inputs=tuple(_settings(text, "--input", is_command=True) for text in given or [""]),
        seed=secrets.randbelow(2**31) if seed is None else seed,
        is_self_test=self_test,
    )
    test = PreparedTest(
        design=design, runs=with_flags(runs, subject), subject=subject, is_seed_free=seed is None
    )
    running.begin_and_run(context, test, prices, name=name, tell=tell, as_json=as_json)


@app.command()
def record(
    context: typer.Context,
    files: Annotated[
        list[Path], typer.Argument(help="A CSV or JSON file, or two logs: the control's, the treatment's.")
    ],
    control: Annotated[str, typer.Option("--control", help="Name of the control in the file.")] = "",
    treatment: Annotated[str, typer.Option("--treatment", help="Name of the treatment in it.")] = "",
    metric: MetricOption = None,
    pattern: PatternOption = None,
    better: BetterOption = "",
    guard: GuardOption = None,
    alpha: AlphaOption = 0.01,
    margin: MarginOption = "1%",
    warmup: Annotated[
        int, typer.Option("--warmup", min=0, help="First values of each arm that do not count.")
    ] = 0,
    in_order: Annotated[
        bool, typer.Option("--in-order", help="The rows are in the order in which they were measured.")
    ] = False,
    control_settings: Annotated[
        str, typer.Option("--control-settings", help="What the control sets, as name=value,...")
    ] = "",
    treatment_settings: Annotated[
        str, typer.Option("--treatment-settings", help="What the treatment sets.")
    ] = "",
    name: NameOption = "",
    recommendation: RecommendationOption = "",
    problem: ProblemOption = None,
    strategy: StrategyOption = "",
    device_hours: HoursOption = None,
    price: PriceOption = None,
    currency: CurrencyOption = "",
    power: PowerOption = None,
    intensity: IntensityOption = None,
    tell: TellOption = True,
    as_json: JsonOption = False,
) -> None:
    r"""Judge measurements that were made elsewhere.

    Example: tunegraph ab record before.log after.log --pattern 'step_time:ms=step took (\S+) ms'
    """
    from cli.ab import running
    from recommender.experiment.recording import recorded

    if problem is not None and not (strategy or treatment_settings):
        raise InputError("the graph needs to know what was tried", hint="--treatment-settings name=value,...")
    subject = running.subject_of(context, recommendation, problem, strategy)
    first = _settings(control_settings, "--control-settings", is_command=True)
    other = _settings(treatment_settings, "--treatment-settings", is_command=True)
    if recommendation and subject and not treatment_settings:
        other = subject.changed(first)
    found = recorded(
        files,
        metrics=metric or (),
        patterns=pattern or (),
        better=better,
        names=(control, treatment),
        settings=(first, other),
        guards=guard or (),
        alpha=alpha,
        margin=share("--margin", margin),
        warmup=warmup,
        in_order=in_order,
    )
    logged = running.experiments(context).record(found, subject, name)
    prices = _prices(device_hours, price, currency, power, intensity)
    running.finish(context, logged, prices, tell=tell, as_json=as_json)


@app.command()
def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of an experiment; without one, all are listed.")] = "",
    samples: Annotated[bool, typer.Option("--samples", help="Print every raw value as CSV.")] = False,
    device_hours: HoursOption = None,
    price: PriceOption = None,
    currency: CurrencyOption = "",
    power: PowerOption = None,
    intensity: IntensityOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one experiment, or list them all.

    Example: tunegraph ab show
    """
    from cli import output
    from cli.ab import output as ab_output
    from cli.ab.running import experiments

    stored = experiments(context)
    if not name:
        listed = [(item, stored.state(item)) for item in map(stored.find, stored.names())]
        if as_json:
            output.as_json({"experiments": [ab_output.in_short(*item) for item in listed]})
        else:
            ab_output.listing(listed)
        return
    logged = stored.find(name)
    if samples:
        ab_output.raw(logged)
        return
    prices = _prices(device_hours, price, currency, power, intensity)
    ab_output.result(logged, stored.state(logged), prices, as_json=as_json)


def _settings(text: str, option: str, *, is_command: bool) -> Settings:
    """Settings as given; where there is no command to put them into, the text is one."""
    from kg.nouns.values import Settings

    if is_command:
        return Settings(pairs(option, [text] if text.strip() else []))
    if not text.strip():
        raise InputError(
            f"{option}: nothing to run",
            hint=f"a command, or settings and --command '{PLACEHOLDER} {{options}}'",
        )
    return Settings({"command": text})


def _prices(
    device_hours: float | None,
    price: float | None,
    currency: str,
    power: float | None,
    intensity: float | None,
) -> Prices | None:
    from recommender.experiment.impact import Prices

    if device_hours is None:
        if price is not None or power is not None or intensity is not None:
            raise InputError("a saving needs to know how much there is", hint="--device-hours 1000")
        return None
    return Prices(
        device_hours=device_hours, price=price, currency=currency, power_w=power, intensity=intensity
    )
