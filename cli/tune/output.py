"""Printing for ``tunegraph tune``: what is tried, what it gave, and the end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli import output
from cli.ab.output import ratio
from cli.output import note, say
from cli.text.language import localised
from ingest.questions.patches.script_edits import ScriptEdits
from recommender.experiment.verdict import Verdict
from recommender.tune.tuner import TuneWatch

if TYPE_CHECKING:
    from recommender.experiment.standing import ExperimentState
    from recommender.tune.candidates import TuneChange
    from recommender.tune.tune_result import TuneObjective, TuneOutcome, TuneResult, TuneStep
    from recommender.workspace.tuning import PreparedTune


class TuneProgress(TuneWatch):
    """The course of a tune on stderr, a line for each start.

    Args:
        objective: What is improved.
    """

    def __init__(self, objective: TuneObjective) -> None:
        self._objective = objective
        self._best = ""

    def tries(self, name: str) -> None:
        """Show what is started."""
        if sys.stderr.isatty():
            output.moving_line(localised(f"starting {name} ..."))

    def step(self, step: TuneStep) -> None:
        """Show what a start gave."""
        there = f" @{step.on}" if step.on else ""
        _aside(f"{localised(step.name)}{there}: {step_text(step, self._objective)}")
        if step.is_accepted:
            self._best = f"{step.name}: {_value(step.result, self._objective)}"

    def round(self, state: ExperimentState) -> None:
        """Show how the confirmation stands."""
        found = state.comparisons[0].interval
        _aside(f"pair {found.pairs}: {ratio(found)}")

    def left_out(self, change: TuneChange) -> None:
        """Show a change that the winner does not need."""
        _aside(f"taken back, the winner is no worse without it: {change.name}")

    def lost(self, machine: str, reason: str) -> None:
        """Show a machine that measures no more."""
        _aside(f"{machine} measures no more, the others go on: {reason}")

    def stopped(self) -> None:
        """Show the best so far."""
        best = self._best or "nothing"
        _aside(f"Stopped; nothing that was started runs on. Best so far, not confirmed: {best}")


def _aside(text: str) -> None:
    if sys.stderr.isatty():
        output.moving_line("")
    output.aside(localised(text))


def step_text(step: TuneStep, objective: TuneObjective) -> str:
    """The result of an evaluation, in words."""
    result = step.result
    if result.is_dropped:
        return f"dropped: {result.reason}"
    if not result.is_ok:
        return f"failed: {result.reason}"
    parts = [_value(result, objective)]
    if step.gain is not None:
        parts.append(f"{step.gain:.2f}x the best so far" + (", kept" if step.is_accepted else ""))
    if step.quality is not None and step.quality.state != "same":
        parts.append(step.quality.text)
    if not result.kept:
        parts.append(f"{result.nearest:.0%} of the requests within the limits")
    if result.disturbed:
        parts.append(f"{result.disturbed} of {result.probes} probes disturbed")
    return ", ".join(map(localised, parts))


def _value(result: TuneResult, objective: TuneObjective) -> str:
    return "unknown" if result.value is None else f"{result.value:.4g} {objective.unit}"


def is_open(outcome: TuneOutcome) -> bool:
    """True if a winner is neither confirmed nor refuted."""
    return outcome.verdict in {None, Verdict.UNDECIDED}


def show_launches(prepared: PreparedTune, *, as_json: bool) -> None:
    """Print every start of a tune, as it differs from the script."""
    script = prepared.script
    rows = [{"name": "the script as it is", "starts": script.edits_text(ScriptEdits()), "why": "baseline"}]
    for item in prepared.candidates:
        expected = "" if item.expected is None else f", {item.expected:.2f}x expected"
        rows.append({"name": item.name, "starts": script.edits_text(item.edits), "why": item.why + expected})
    if as_json:
        output.as_json({"launches": rows, "objective": prepared.request.objective(script).text})
        return
    objective = prepared.request.objective(script)
    load = str(prepared.request.load_of()) if script.is_server else f"{prepared.request.steps} steps"
    say(f"Improves {objective.text}, at {load}. Nothing was started.")
    for number, row in enumerate(rows):
        say(f"{number}. {row['starts']}   [{row['why']}]")
    say("Then the winner and the script as it is, in turn, until the interval decides.")


def show_outcome(
    prepared: PreparedTune, name: str, outcome: TuneOutcome, rows: int, *, write: str, as_json: bool
) -> None:
    """Print how a tune ended, and write the winner where it is confirmed."""
    if as_json:
        written = _written(prepared, outcome, write) if outcome.is_better else None
        content = _content(prepared, name, outcome)
        output.as_json({**content, "written": write if written else None, "rows": rows})
        return
    objective = prepared.request.objective(prepared.script)
    first = outcome.steps[0].result
    say(f"{name}: {outcome.starts} starts, {outcome.cost_s:.0f} s, {len(outcome.steps)} configurations tried")
    say(f"the script as it is: {_value(first, objective)}")
    names = ", ".join(item.name for item in outcome.accepted)
    found = None if outcome.state is None else outcome.state.comparisons[0].interval
    if outcome.is_better and found is not None:
        say(f"Better: {names}: {ratio(found)}, {found.pairs} pairs of starts, p {found.p:.2g}")
    elif not outcome.accepted:
        say(f"Nothing better: {outcome.why}")
    elif is_open(outcome):
        text = "" if found is None else f", {ratio(found)} after {found.pairs} pairs"
        say(f"Not confirmed: {names}{text}: {outcome.why}")
    else:
        text = "" if found is None else ratio(found)
        say(f"Nothing better: {names} was taken for better and is {outcome.verdict}: {text}")
    if outcome.quality is not None and outcome.accepted:
        say(f"answers: {outcome.quality.text}")
    disturbed = sum(step.result.disturbed for step in outcome.steps)
    if disturbed:
        probes = sum(step.result.probes for step in outcome.steps)
        note(f"{disturbed} of {probes} probes of the search were disturbed")
    written = _written(prepared, outcome, write) if outcome.is_better else None
    if written is not None:
        print(written.diff or "nothing to change\n", end="")
        for line in written.unwritten:
            note(f"not written: {line}")
        if written.proof and written.diff:
            say(f"# {written.proof}")
        if write:
            say(f"wrote {write}")
    if rows:
        note(f"the graph learned {rows} rows")


def _written(prepared: PreparedTune, outcome: TuneOutcome, write: str) -> Any:
    """The winner in the user's script; None where nothing is known of its flags."""
    from recommender.answers.tuned_script import script_of, script_with

    script, edits = prepared.script, outcome.edits
    name, new_name = script.path.name, write or f"tuned-{prepared.script.path.name}"
    if not script.program and edits.variables:
        note(f"set in the environment: {script.edits_text(ScriptEdits(variables=edits.variables))}")
    if script.program:
        made = script_with(edits, script.source, name, new_name, server=script.server)
    elif edits.flags or edits.removed:
        made = script_of(script.with_edits(edits)[0], script.source, name, new_name)
    else:
        return None
    if write:
        made.write(Path(write), script.path)
    return made


def _content(prepared: PreparedTune, name: str, outcome: TuneOutcome) -> dict[str, Any]:
    objective = prepared.request.objective(prepared.script)
    return {
        "name": name,
        "metric": objective.metric,
        "unit": objective.unit,
        "better": str(objective.better),
        "verdict": None if outcome.verdict is None else str(outcome.verdict),
        "why": outcome.why,
        "accepted": [item.name for item in outcome.accepted],
        "starts": outcome.starts,
        "cost_s": round(outcome.cost_s, 3),
        "load_s": round(outcome.load_s, 3),
        "quality": None if outcome.quality is None else outcome.quality.to_json(),
        "confirmation": None if outcome.state is None else outcome.state.to_json(),
        "steps": [
            {
                "name": step.name,
                "gain": None if step.gain is None else round(step.gain, 4),
                "accepted": step.is_accepted,
                **({"on": step.on} if step.on else {}),
                "quality": None if step.quality is None else step.quality.to_json(),
                **{
                    key: value
                    for key, value in step.result.to_json().items()
                    if key not in {"answers", "tokens"}
                },
            }
            for step in outcome.steps
        ],
    }
