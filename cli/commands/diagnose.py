"""``tunegraph diagnose``: the causes of lost time in a profile, or what a log tells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.commands.report import HtmlOption, write_all
from cli.context import open_workspace
from cli.diagnosis.labels import say_labelled
from cli.options import JsonOption
from cli.output import say
from cli.text.language import localised
from kg.errors import InputError

if TYPE_CHECKING:
    from ingest.profiles.facts.run import Rank
    from recommender.answers.diagnose import DiagnosisAnswer
    from recommender.answers.remedies import Remedy
    from recommender.diagnosis.diagnosis import Diagnosis, Finding
    from recommender.diagnosis.next_measurement import NextMeasurement
    from recommender.retrieval.past_cases import PastCase


def diagnose(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="A profile: folder, database, trace or table. Or a log.")],
    compare: Annotated[
        Path | None, typer.Option("--compare", help="An earlier profile of the same job: explain what grew.")
    ] = None,
    job: Annotated[
        str,
        typer.Option("--job", help="Set it beside the last runs of this name, and keep it as one of them."),
    ] = "",
    html: HtmlOption = None,
    least: Annotated[
        float,
        typer.Option(min=0.001, max=0.9, help="Share of the step that is called significant."),
    ] = 0.05,
    keep_accuracy: Annotated[
        bool, typer.Option("--keep-accuracy", help="Leave out what may change a model's accuracy.")
    ] = False,
    settings_only: Annotated[
        bool, typer.Option("--settings-only", help="Only remedies that are settings, not code changes.")
    ] = False,
    hardware: Annotated[
        str | None,
        typer.Option(
            "--hardware", help="Where it ran, for matching cases and memory, if the file is silent."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="What ran, for matching cases and memory.")
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            "--beside", help="Beside a log: dmesg, nvidia-smi -q, npu-smi, hccn_tool. May be repeated."
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Every account of the ledger, not the largest alone.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Name the causes of lost time in a profile, or faults in a log.

    Example: tunegraph diagnose run/ --compare earlier/
    """
    from cli import output
    from ingest.profiles.folders import is_log
    from recommender.answers.diagnose import Allowed
    from recommender.workspace.pages import PagesDesk

    if is_log(path):
        given = {"--compare": compare, "--html": html, "--job": job or None}
        if unfit := [name for name, value in given.items() if value is not None]:
            raise InputError(
                f"{path} is a log, and {', '.join(unfit)} takes a profile",
                hint="leave it out, or name a profile",
            )
        from cli.diagnosis.log_text import not_understood, show_log

        with open_workspace(context) as workspace:
            read = workspace.profiles.log(
                path, beside=beside or (), hardware=hardware or "", model=model or ""
            )
        content = {"path": str(path), **read.to_json()}
        if as_json:
            output.as_json(content)
        elif read.is_understood:
            show_log(path, read)
        if not read.is_understood:
            raise not_understood(path, read)
        return
    if beside:
        raise InputError(f"{path} is a profile, and --beside takes a log", hint="leave it out, or name a log")
    if job and compare is not None:
        raise InputError("--job and --compare both name what to set it beside", hint="leave one out")
    with open_workspace(context) as workspace:
        answer = workspace.profiles.diagnose(
            path,
            before=compare,
            job=job,
            least=least,
            allowed=Allowed(accuracy=not keep_accuracy, code=not settings_only),
            hardware=hardware or "",
            model=model or "",
        )
    if html is not None:
        write_all([html], PagesDesk.of(answer, source=path.name))
    if as_json:
        output.as_json(answer.to_json())
    else:
        _show(answer, is_full=verbose)
        if job and answer.diagnosis.difference is None:
            output.note(f"job {job}: its first run is kept, and the next is set beside it")


def _show(answer: DiagnosisAnswer, *, is_full: bool) -> None:
    from cli import output
    from cli.diagnosis import ledger_text

    found, profile = answer.diagnosis, answer.profile
    if found.has_times:
        say(_headline(found, answer.remedies[0] if answer.remedies else ()) + "\n")
        if found.difference is None:
            ledger_text.show_ledger(found.ledger, is_full=is_full)
        else:
            ledger_text.show_difference(found.difference, is_full=is_full)
        ledger_text.show_idle_frames(profile, is_full=is_full)
    ledger_text.show_memory(profile)
    ledger_text.show_headroom(found)
    causes = zip(found.findings, answer.remedies, answer.cases, strict=True)
    for place, (item, remedies, cases) in enumerate(causes, 1):
        _cause(place, item, remedies, cases, found.labels)
    for other in found.others:
        name = found.labels.get(other.node, other.node)
        say(f"besides: {name} [{other.node}], {other.share:.0%} of the step")
    if found.others:
        say()
    if found.has_times:
        rows = [row for rank in profile.ranks for row in _split(rank, profile.path)]
        parts = ("compute", "communication exposed", "overlapped", "free")
        output.table(("rank", "step", "ms", *parts), rows)
        say()
    if found.next is not None:
        _show_next(found.next)
    if found.besides:
        say("Seen besides, at no cost that shows")
        output.table(("what", "how it shows"), ((item.node, item.says) for item in found.besides))
        say()
    if found.missing:
        say("Not collected")
        output.table(("what", "how to collect it"), ((item.what, item.how) for item in found.missing))
    for text in found.notes:
        output.note(text)


def _show_next(item: NextMeasurement) -> None:
    from cli import output

    say("What to measure next")
    open_part = f"{item.open_us / 1e3:.2f} ms, {item.share:.0%} of the step"
    output.table(("how", "tells", "open"), [(item.how, item.tells, open_part)])
    say()


def _headline(found: Diagnosis, remedies: tuple[Remedy, ...]) -> str:
    """The first line: how much, of what, where, what to do, and what it brings."""
    from recommender.diagnosis.patterns.gaps import CONJECTURE
    from recommender.diagnosis.rank.host_calls import USUAL_LAUNCH_US, launch_us

    if not found.findings:
        return _nothing(found)
    cause, evidence = found.findings[0].cause, found.findings[0].evidence
    where = "" if evidence is None or evidence.rank is None else f", rank {evidence.rank}"
    name = found.labels.get(cause.node, cause.node)
    if evidence is not None and min(evidence.shown, evidence.sure) <= CONJECTURE:
        name = f"perhaps {name}"
    more = " more than before" if found.difference is not None else ""
    fix = f"; {remedies[0].strategy.label}" if remedies else ""
    is_slow = any(launch_us(rank.calls) > USUAL_LAUNCH_US for rank in found.profile.ranks)
    if cause.chain == (HOST,) and found.next and found.next.share > HALF * cause.share and not is_slow:
        fix = f"; first {found.next.how}"
    gain = _factor(cause.ceiling)
    # What is slow on one rank alone is of no use without the rank.
    is_local = (
        evidence is not None
        and len(found.profile.ranks) > 1
        and (evidence.beyond_us is None or evidence.beyond_us > HALF * evidence.lost_us)
    )
    short = (where, "") if is_local else ("", fix)
    forms = ((" of the step", where, fix), ("", where, fix), ("", *short), ("", "", ""))
    lines = [f"{cause.share:.0%}{step}{more}: {name}{rank}{cure}; up to {gain}" for step, rank, cure in forms]
    return next((line for line in lines if len(line) <= MOST_WIDTH), lines[-1])


def _factor(value: float) -> str:
    """A factor without digits that say nothing."""
    return f"{value:.2f}x" if value < 10 else f"{value:.0f}x"


def _nothing(found: Diagnosis) -> str:
    """The sentence that stands for causes where none is named."""
    from recommender.diagnosis.ledger.accounts import FREE
    from recommender.diagnosis.patterns.gaps import LEAST_WORK

    if found.difference is None and found.headroom and found.headroom[0].share >= found.least:
        first = found.headroom[0]
        reaches = f"{first.operator} reaches {first.of_share:.0%} of what the device could do"
        return f"{first.share:.0%}: {reaches}; up to {_factor(1 / (1 - first.share))}"
    step = sum(float(rank.step_us.sum()) for rank in found.ledger.ranks)
    busy = step - sum(rank.total_us(FREE) for rank in found.ledger.ranks)
    if found.difference is None and busy < LEAST_WORK * step:
        return (
            f"The device worked for {busy / 1e3:.2f} of {step / 1e3:.2f} ms: record whole steps of the work."
        )
    if found.difference is None:
        return f"Nothing that was collected costs {found.least:.0%} of the step and shows a known cause."
    growth = found.difference.growth_us / max(found.difference.before_us, 1e-9)
    if growth <= found.least:
        return "Nothing costs more than it did before."
    return f"The step grew by {growth:.0%}, and no known cause shows: the rows above are where."


def _split(rank: Rank, path: str) -> list[tuple[object, ...]]:
    from recommender.diagnosis.rank.groups import rank_name

    return [
        (
            rank_name(rank, path),
            step.step,
            f"{step.step_us / 1e3:.2f}",
            *(
                f"{part / step.step_us:.0%}"
                for part in (step.computing_us, step.exposed_us, step.overlapped_us, step.free_us)
            ),
        )
        for step in rank.steps[:MOST_STEPS]
    ]


HOST, HALF = "host-bound", 0.5
"""An idle host that nothing explains is measured before it is treated, where that is most of it."""
MOST_WIDTH = 80
"""Signs of the first line: it is one."""
MOST_STEPS = 4
"""Steps shown of a rank; --json has all."""


def _cause(
    place: int, item: Finding, remedies: tuple[Remedy, ...], cases: tuple[PastCase, ...], labels: object
) -> None:
    likely = item.cause
    names = labels if isinstance(labels, dict) else {}
    say(f"{place}. {names.get(likely.node, likely.node)}   [{likely.node}]")
    say_labelled(
        "cost",
        f"{likely.share:.0%} of the step ({likely.lost_us / 1e3:.2f} ms); "
        f"at most {_factor(likely.ceiling)} without it",
    )
    say_labelled("confidence", f"{item.confidence:.0%} that this is the main reason")
    say_labelled("chain", " <- ".join(likely.chain))
    for evidence in reversed(likely.evidence):
        where = "; ".join(dict.fromkeys(map(str, evidence.places[:2])))
        rank = f"{localised(f'rank {evidence.rank}')}: " if evidence.rank is not None else ""
        say_labelled("seen", f"{rank}{localised(evidence.says)}" + (f"  ({where})" if where else ""))
    if likely.perhaps:
        say_labelled("perhaps", ", ".join(f"{cause} {chance:.0%}" for cause, chance in likely.perhaps))
    for remedy in remedies:
        written = "; ".join(remedy.settings[:3])
        say_labelled("try", remedy.strategy.label + (f": {written}" if written else ""))
        if not written:
            say_labelled("", remedy.strategy.definition)
        if remedy.now:
            say_labelled("", "now " + "; ".join(f"{name}={value}" for name, value in remedy.now.items()))
        if remedy.condition:
            say_labelled("", f"if {remedy.condition}")
        for case in remedy.to_json()["cases"]:  # type: ignore[attr-defined]  # a list of mappings
            where = case["hardware"] or "hardware not stated"
            seen = f"{case['kind']}, {case['metric']} {case['mean_factor']:.2f}x on {where} (n={case['n']})"
            say_labelled("", seen)
    for past in cases:
        what = f"{past.gain.strategy} against {past.gain.bottleneck}"
        where = f"{past.gain.model or 'model not stated'} on {past.gain.hardware}"
        say_labelled("case", f"{what}: {past.gain.metric} {past.factor:.2f}x, {past.gain.kind}, {where}")
    say()
