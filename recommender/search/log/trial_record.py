"""One trial in the log of a search, as it is read and as it is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kg.nouns.entities import Objective, Status
from kg.nouns.values import Settings
from recommender.measuring.outcome import RunOutcome
from recommender.search.evaluations import Evaluation, Origin

OWN = "search"
"""Attribute of a study and its trials that holds what a search needs to go on."""
BEAT = "search_beat"
"""Attribute of a trial that its worker writes again and again while it evaluates: Unix time by its clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedTrial:
    """One trial of the log.

    Attributes:
        number: In its study, from 0; what people call it by.
        trial_id: In its storage.
        state: ``RUNNING``, ``COMPLETE``, ``PRUNED``, ``FAIL`` or ``WAITING``.
        configuration: What is set.
        origin: Why it was proposed.
        owner: Who evaluates it.
        until: Unix time after which its worker counts as gone; None for never.
        beat: What its worker wrote last to show that it lives; None where no worker does.
        evaluation: What came out; None before its end.
        elapsed_s: How long the search had taken by then, all sessions together.
        notes: What else was noted of the evaluation.
        expected: What was predicted of each objective; None if nothing was.
        ended: When it ended; None before.
    """

    number: int
    trial_id: int
    state: str
    configuration: Settings
    origin: Origin
    owner: str
    until: float | None
    beat: float | None
    evaluation: Evaluation | None
    elapsed_s: float
    notes: tuple[str, ...]
    expected: tuple[float, ...] | None
    ended: datetime | None


def attributes_of(
    trial: LoggedTrial,
    evaluation: Evaluation,
    outcome: RunOutcome,
    *,
    objectives: Sequence[Objective],
    elapsed_s: float,
) -> dict[str, object]:
    """The attributes of an ended trial, as JSON."""
    expected = trial.expected
    return {
        "origin": trial.origin,
        "owner": trial.owner,
        "expected": None if expected is None else list(expected),
        "elapsed_s": round(elapsed_s, 3),
        "notes": list(outcome.notes),
        "by_input": [dict(item) for item in outcome.by_input],
        "others": {k: v for k, v in outcome.values.items() if k not in {o.metric for o in objectives}},
        "evaluation": {
            "values": list(evaluation.values),
            "stdev": None if evaluation.stdev is None else list(evaluation.stdev),
            "status": evaluation.status.value,
            "reason": evaluation.reason,
            "repeats": evaluation.repeats,
            "cost_s": evaluation.cost_s,
            "parts": list(evaluation.parts),
        },
    }


def outcomes(evaluation: Evaluation) -> list[dict[str, object] | None]:
    """Each value of an evaluation as the outcome of a case record; None for one that is unknown."""
    if not evaluation.ok:
        failed: dict[str, object] = {"value": None, "status": evaluation.status.value}
        return [failed | {"reason": evaluation.reason}, *([None] * (len(evaluation.values) - 1))]
    spreads = evaluation.stdev or (None,) * len(evaluation.values)
    return [
        None
        if value is None
        else {"value": value, "status": "ok", "n": evaluation.repeats}
        | ({} if spread is None else {"std": spread})
        for value, spread in zip(evaluation.values, spreads, strict=True)
    ]


def trial_from_optuna(trial: Any) -> LoggedTrial:
    """A trial of Optuna's."""
    noted = trial.user_attrs.get(OWN)
    noted = noted if isinstance(noted, dict) else {}
    configuration = Settings(trial.params)
    raw = noted.get("evaluation")
    evaluation = None
    if isinstance(raw, dict) and trial.state.is_finished():
        spreads = raw.get("stdev")
        evaluation = Evaluation(
            configuration=configuration,
            values=tuple(raw["values"]),
            status=Status(raw["status"]),
            reason=raw["reason"],
            stdev=None if spreads is None else tuple(spreads),
            repeats=raw["repeats"],
            cost_s=raw["cost_s"],
            parts=tuple(raw.get("parts", ())),
        )
    expected = noted.get("expected")
    return LoggedTrial(
        number=trial.number,
        trial_id=trial._trial_id,
        state=trial.state.name,
        configuration=configuration,
        origin=noted.get("origin", "random"),
        owner=str(noted.get("owner", "")),
        until=noted.get("until"),
        beat=trial.user_attrs.get(BEAT),
        evaluation=evaluation,
        elapsed_s=float(noted.get("elapsed_s", 0.0)),
        notes=tuple(noted.get("notes", ())),
        expected=None if expected is None else tuple(expected),
        ended=trial.datetime_complete,
    )
