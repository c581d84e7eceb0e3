"""``tunegraph recommend``: a question and its answer."""

from __future__ import annotations

import math
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.commands.answer_text import show
from cli.commands.report import HtmlOption, write_all
from cli.commands.tuned_script import (
    WriteDirOption,
    WriteOption,
    refuse_unwritable,
    write_deployment,
    write_script,
)
from cli.context import open_workspace, with_defaults
from cli.options import PLACEHOLDER, JsonOption, NumberOption
from cli.output import aside, say
from cli.problem_options import ProblemOptions, asks
from cli.values import span_s
from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recommender.answers.answer import Answer
    from recommender.answers.carbon_choice import CarbonChoice
    from recommender.space.space import SearchSpace
    from recommender.workspace.workspace import Workspace


SHOWN = 4


def show_choice(choice: CarbonChoice, *, verbose: bool) -> None:
    """Print the options with the least carbon, effects apart."""
    from cli import output

    alpha, beta = choice.weights
    say("\nConfiguration and start together, best first.")
    say(f"Score: {alpha:g} x speed + {beta:g} x carbon saved, against the start at once.\n")
    for number, item in enumerate(choice.options if verbose else choice.options[:SHOWN], 1):
        begin, end = item.plan.start.astimezone(), item.plan.pieces[-1][1].astimezone()
        say(f"{number}. {item.name}, score {item.score:.2f}")
        say(f"   {begin:%a %H:%M} to {end:%a %H:%M}, {item.energy_kwh:.3g} kWh, {item.carbon_g:.3g} g CO2")
        say(f"   {item.effects}")
        say(f"   {item.efficiency:.3g} {item.unit} a gram; {item.cost:.2f}x the device hours")
    for name, why in choice.refused if verbose else ():
        say(f"   not {name}: {why}")
    for text in choice.notes:
        output.note(text)


ProfileOption = Annotated[
    Path | None,
    typer.Option(
        "--from-profile", help="A profile: what tunegraph diagnose finds in it are the bottlenecks."
    ),
]


def with_profile(workspace: Workspace, raw: dict[str, object], path: Path | None) -> dict[str, object]:
    """The question with the bottlenecks of a profile; those that the user names himself win.

    Raises:
        InputError: The path is no profile.
    """
    if path is None:
        return raw
    from cli import output

    found = workspace.diagnose(path).diagnosis.bottlenecks()
    if not found:
        output.note(
            f"{path}: nothing costs a significant part of the step, so no bottleneck is taken from it"
        )
        return raw
    told = raw.get("bottlenecks")
    own: dict[str, object] = {}
    if isinstance(told, list):
        own = {str(name): None for name in told}
    elif isinstance(told, dict):
        own = {str(name): share for name, share in told.items()}
    output.note(
        "bottlenecks from the profile: " + ", ".join(f"{n} {share:.0%}" for n, share in found.items())
    )
    return {**raw, "bottlenecks": {**found, **own}}


FormatOption = Annotated[
    str,
    typer.Option(
        "--format",
        help="The start as an engine is launched with it (vllm, sglang, mindie, megatron), or configurations "
        "alone: flags, env, yaml, vllm, sglang, triton, kernel-tuner (T4), kernel-tuner-restriction, optuna, "
        "json.",
    ),
]
_ENGINES = {"vllm": "vllm", "sglang": "sglang", "mindie": "mindie", "megatron": ""}
"""Software that a form of a model's plan stands for; the usual one of the hardware where it is empty."""
VerboseOption = Annotated[bool, typer.Option("-v", "--verbose", help="All that a plan rests on.")]
ByOption = Annotated[
    str, typer.Option("--by", help="For least carbon: when the job must be done, as 'tomorrow 08:00'.")
]
LastsOption = Annotated[str, typer.Option("--lasts", help="With --by: how long the job runs, as 8h.")]
RegionOption = Annotated[str, typer.Option("--region", help="With --by: region of the grid, as imported.")]
PowerLimitOption = Annotated[
    float | None, typer.Option("--power-limit", min=1, help="With --by: power limit of a device, in watts.")
]
WeighOption = Annotated[str, typer.Option("--weigh", help="With --by: weights of speed and carbon, as 1:3.")]
SpaceOption = Annotated[
    str, typer.Option("--space", help="Search file with the parameters and rules of your own kernel.")
]
MovedOption = Annotated[str, typer.Option("--rate", "--price", hidden=True, help="Of tunegraph size.")]
MovedFlag = Annotated[bool, typer.Option("--pareto", hidden=True, help="Of tunegraph size.")]


@asks()
def recommend(
    context: typer.Context,
    question: ProblemOptions,
    from_profile: ProfileOption = None,
    k: NumberOption = 5,
    moved: MovedOption = "",
    pareto: MovedFlag = False,
    by: ByOption = "",
    lasts: LastsOption = "8h",
    region: RegionOption = "",
    power_limit: PowerLimitOption = None,
    weigh: WeighOption = "0:1",
    space: SpaceOption = "",
    form: FormatOption = "",
    write: WriteOption = "",
    write_dir: WriteDirOption = "",
    html: HtmlOption = None,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Recommend where to start, and what to change next.

    Example: tunegraph recommend --model qwen3-32b --phase serving --hardware 910B3 --count 4
    """
    from cli import output
    from cli.diagnosis.finding_text import launch_settings

    if moved or pareto:
        words = ["size" if word == "recommend" else word for word in sys.argv[1:]]
        raise InputError("--rate, --pareto and --price are of size", hint=f"tunegraph {shlex.join(words)}")
    span_s(lasts)
    _weights(weigh)
    if write_dir:
        refuse_unwritable(Path(write_dir))
    other_form = "" if form == "json" else form
    shown = {"--write": write, "--html": html, "--format": other_form}
    _refuse_together(bool(write), "--write prints a diff", {"--format": form, "--json": as_json})
    _refuse_together(bool(write_dir), "--write-dir says what it wrote", {"--format": form, "--json": as_json})
    _refuse_together(bool(by), "--by chooses when to run", shown)
    raw = question.raw()
    raw, declared = _with_space(raw, space)
    with open_workspace(context) as workspace:
        raw = with_profile(workspace, raw, from_profile)
        raw = with_defaults(context, workspace, raw)
        running = launch_settings(question.from_command, question.server)

        def asked(raw: dict[str, object]) -> Answer:
            problem, notes = workspace.problem(raw)
            if question.from_command and declared is None:
                return workspace.launches.recommend(problem, running, k, notes=notes)
            return workspace.recommend(problem, k, notes=notes, space=declared)

        answer = asked(raw)
        if (other := _for_engine(raw, answer, form)) is not raw:
            raw, answer = other, asked(other)
        is_remembered = workspace.remember(answer, raw, k)
        runs = answer.abstention is None and (answer.plan is None or answer.plan.fits)
        files = workspace.ask.deployment(answer) if write_dir and runs else None
        green = _for_carbon(workspace, answer, by, lasts, region, power_limit, weigh)
    if html is not None:
        from recommender.workspace.pages import PagesDesk

        write_all([html], PagesDesk.of(answer, source="recommend"))
    if write and runs:
        write_script(answer, write, question.from_command, question.server, running)
    else:
        every = str(context.get_parameter_source("k")).endswith("COMMANDLINE")
        _print(answer, form, verbose=verbose, every=every, as_json=as_json, green=green)
    if files is not None:
        write_deployment(files, write_dir)
    if not is_remembered:
        output.note("the workspace cannot be written to, so explain will not know these ids")
    elif not (as_json or form or space) and (answer.recommendations or answer.starts):
        # explain does not know the space
        _say_next(answer, question.from_command or "", verbose=verbose, is_written=bool(write and runs))
    _leave_if_nothing(answer, is_data=bool(form or as_json))


def _refuse_together(applies: bool, does: str, others: Mapping[str, object]) -> None:
    """Refuse options that do not go with one in use.

    Raises:
        InputError: Some are given.
    """
    given = [name for name, value in others.items() if value]
    if applies and given:
        raise InputError(f"{does}: not with {' or '.join(given)}")


def _with_space(raw: dict[str, object], file: str) -> tuple[dict[str, object], SearchSpace | None]:
    """The question with what the search file says of it, and the space that the file declares."""
    from recommender.workspace.searches import SearchDesk

    if not file:
        return raw, None
    space, question = SearchDesk.declared_space(file)
    sizes = {**_mapping(question.get("shape")), **_mapping(raw.get("shape"))}
    return {**question, **raw, **({"shape": sizes} if sizes else {})}, space


def _mapping(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, dict) else {}


def _say_next(answer: Answer, script: str, *, verbose: bool, is_written: bool) -> None:
    """Print the commands that explain the answer, and that test its start."""
    from recommender.answers.deploying.commands import test_of

    first = (answer.recommendations or answer.starts)[0]
    aside(f"Why: tunegraph explain {first.id}{'' if verbose else '; more: -v'}")
    for start in answer.starts[:1] if (verbose or is_written) and not answer.engines else ():
        is_tuned = Path(script).is_file() and Path(script).suffix not in {".yaml", ".yml", ".py"}
        tune = f"tunegraph tune {shlex.quote(script)} --hardware {answer.problem.hardware.name}"
        aside(f"To test it: {tune if is_tuned else test_of(answer, start, PLACEHOLDER)}")


def _for_engine(raw: dict[str, object], answer: Answer, form: str) -> dict[str, object]:
    """The question for the engine that a form is of, where its answer is for another and it names none."""
    engine = _ENGINES.get(form, "")
    is_of_it = not engine or answer.plan is None or answer.plan.start.is_of(form)
    return raw if is_of_it or not raw.get("model") else {"software": {engine: ""}, **raw}


def _for_carbon(
    workspace: Workspace,
    answer: Answer,
    by: str,
    lasts: str,
    region: str,
    power_limit: float | None,
    weigh: str,
) -> CarbonChoice | None:
    """Configuration and start together, where a deadline was given and something fits."""
    if not by or (answer.plan is not None and not answer.plan.fits):
        return None
    return workspace.green.choose(
        answer,
        by=by,
        duration_s=span_s(lasts),
        region=region,
        power_limit_w=power_limit,
        weights=_weights(weigh),
    )


def _weights(text: str) -> tuple[float, float]:
    """Weights of speed and carbon."""
    try:
        speed, carbon = map(float, text.split(":"))
    except ValueError:
        speed = carbon = -1.0
    if not (0 <= speed < math.inf and 0 <= carbon < math.inf and speed + carbon > 0):
        raise InputError(f"--weigh {text!r}", hint="weights of speed and carbon, such as 1:3")
    return speed, carbon


def _print(
    answer: Answer,
    form: str,
    *,
    verbose: bool,
    every: bool,
    as_json: bool,
    green: CarbonChoice | None = None,
) -> None:
    from cli import output

    if as_json or form == "json":
        content = answer.to_json() if verbose else answer.brief_json()
        output.as_json(content | ({} if green is None else {"green": green.to_json()}))
    elif form:
        _write(form, answer)
    else:
        show(answer, verbose=verbose, every=every)
        if green is not None:
            show_choice(green, verbose=verbose)


def _leave_if_nothing(answer: Answer, *, is_data: bool) -> None:
    """Exit with 4 where nothing fits or keeps the limits, and with 3 where nothing is recommended."""
    from cli import output

    if answer.plan is not None and not answer.plan.fits:
        if is_data:
            output.note("it does not fit the memory; start.layout is one that does; exit code 4")
        raise typer.Exit(4)
    if answer.plan is not None and not answer.plan.keeps_limits:
        if is_data:
            output.note("nothing is modelled to keep the limits; the start comes nearest; exit code 4")
        raise typer.Exit(4)
    if answer.abstention is not None:
        if is_data:
            output.note(f"no recommendation: {answer.abstention.reason}; exit code 3")
        raise typer.Exit(3)


def _write(form: str, answer: Answer) -> None:
    """Print the configurations in the form of another program, best first."""
    from ingest.answers import write_answer
    from kg.nouns.values import Settings

    if form in _ENGINES and answer.plan is not None and answer.problem.workload.model:
        print(answer.plan.start.launch_text(form), end="")
        _say_notes(answer)
        return
    choices = [(item.configuration, item.flags) for item in answer]
    if answer.plan is not None and answer.problem.workload.model:
        start = answer.plan.start
        settings = Settings({item.key.lstrip("-"): item.value for item in start.settings})
        choices.insert(0, (settings, tuple(start.paste_lines)))
    remarks = [] if answer.abstention is not None else _expected_loss(answer)
    written = write_answer(form, answer.problem, choices, remarks=remarks)
    print(written.text, end="")
    _say_notes(answer, written.notes)


def _say_notes(answer: Answer, more: Sequence[str] = ()) -> None:
    """Print the assumptions and notes of an answer, beside its text."""
    from cli import output
    from kg.nouns.situation import assumption_line

    for text in (*filter(None, [assumption_line(answer.assumed)]), *answer.notes, *more):
        output.note(text)


def _expected_loss(answer: Answer) -> list[str]:
    """The expected loss if only the first few are timed."""
    return [
        f"expected above the best time if {'the first' if k == 1 else f'the first {k}'} "
        f"{'is' if k == 1 else 'are'} timed: {math.expm1(value):.0%}"
        for k, value in answer.regret.items()
    ]
