"""Replies of the service: the JSON that the command line prints, from a question in JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ingest.profiles.folders import is_log
from ingest.questions.problem_file import KEYS
from kg.errors import InputError
from kg.nouns.situation import FactOrigin
from kg.nouns.values import as_integer
from recommender.answers.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ingest.questions.launches.running import RunningSetting
    from recommender.answers.answer import Answer
    from recommender.workspace.workspace import Workspace

MOST_ANSWERS = 50
"""Recommendations at most, as on the command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer as JSON.

    Attributes:
        content: What the command prints with ``--json``, without its schema_version.
        code: What the command exits with.
    """

    content: Mapping[str, Any]
    code: int = 0

    def to_json(self) -> dict[str, Any]:
        """The whole object."""
        return {"schema_version": SCHEMA_VERSION, **self.content}


def parse_json(text: bytes) -> dict[str, object]:
    """The object that a request holds.

    Raises:
        InputError: It is no JSON object, has a key twice, or a number that is none.
    """
    try:
        content = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_without_repeats,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=as_integer,
        )
    except (ValueError, RecursionError) as fault:
        reason = "too deep" if isinstance(fault, RecursionError) else str(fault)
        raise InputError(f"the body is no JSON: {reason}", hint="send one object in UTF-8") from None
    if not isinstance(content, dict):
        raise InputError("the body is no JSON object", hint=f"keys: {', '.join(KEYS)}")
    return content


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key stands twice")
    return content


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is out of range")
    return value


def _taken(
    body: Mapping[str, object], *, k: int = 5, **others: type
) -> tuple[dict[str, object], int, dict[str, Any]]:
    """The question in a body, ``k``, and what else the request may hold."""
    unknown = [name for name in body if name not in {*KEYS, "k", *others}]
    if unknown:
        names = ", ".join(repr(name[:40]) for name in unknown[:5])
        raise InputError(f"unknown key {names}", hint=f"keys: {', '.join([*KEYS, 'k', *others])}")
    most = body.get("k", k)
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_ANSWERS:
        raise InputError(f"k is a whole number from 1 to {MOST_ANSWERS}")
    given: dict[str, Any] = {}
    for name, kind in others.items():
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, int) and not isinstance(value, bool) and kind is float:
            value = float(value)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InputError(f"{name} is a text" if kind is str else f"{name} is a number")
        given[name] = value
    return {name: body[name] for name in KEYS if body.get(name) is not None}, most, given


def recommend(workspace: Workspace, body: Mapping[str, object]) -> Reply:
    """Reply of ``tunegraph recommend --json``; the ids in it can be explained afterwards."""
    raw, k, others = _taken(body, launch=str, launch_number=int)
    raw, running = _with_launch(raw, others) if "launch" in others else (raw, ())
    problem, notes = workspace.problem(raw)
    answer = (
        workspace.launches.recommend(problem, running, k, notes=notes)
        if running
        else workspace.recommend(problem, k, notes=notes)
    )
    workspace.remember(answer, raw, k)
    return Reply(content=answer.to_json(), code=_code(answer))


def check(workspace: Workspace, body: Mapping[str, object]) -> Reply:
    """Reply of ``tunegraph check --json`` for the text of a launch script, which is read and never run."""
    raw, _, others = _taken(body, launch=str, launch_number=int)
    if "launch" not in others:
        raise InputError("nothing to check", hint="launch: the text of the script")
    audit = workspace.launches.check(*_with_launch(raw, others))
    return Reply(content=audit.to_json(), code=0 if audit.is_clean else 1)


def _with_launch(
    raw: dict[str, object], others: Mapping[str, Any]
) -> tuple[dict[str, object], tuple[RunningSetting, ...]]:
    """The question of a launch, what is told first, and its settings; files that it names are not read."""
    from ingest.questions.launches.launch import read_launch
    from ingest.questions.launches.launch_facts import LaunchFacts, decode_text, merge_facts
    from ingest.questions.launches.running import running_settings

    number = others.get("launch_number")
    text = decode_text(others["launch"].encode("utf-8", "replace"), "launch")
    launch = read_launch(text, "launch", server=number)
    told = LaunchFacts(question=raw, origin=FactOrigin.TOLD)
    return merge_facts([launch, told]), running_settings(text, server=number)


def _code(answer: Answer) -> int:
    if answer.plan is not None and not answer.plan.fits:
        return 4
    return 3 if answer.abstention is not None else 0


def predict(workspace: Workspace, body: Mapping[str, object]) -> Reply:
    """Reply of ``tunegraph predict --json``."""
    raw, k, others = _taken(body, server=str, intensity=float)
    problem, notes = workspace.problem(raw)
    prediction = workspace.ask.predict(
        problem,
        k,
        server=others.get("server", ""),
        intensity_g_per_kwh=others.get("intensity"),
        notes=notes,
    )
    return Reply(content=prediction.to_json())


def similar(workspace: Workspace, body: Mapping[str, object]) -> Reply:
    """Reply of ``tunegraph similar --json``."""
    raw, k, _ = _taken(body, k=10)
    problem, notes = workspace.problem(raw)
    neighbours = workspace.ask.neighbours(problem, k)
    return Reply(content={"notes": [*notes, *workspace.snapshot.encoder.notes], "neighbours": neighbours})


def explain(workspace: Workspace, recommendation_id: str) -> Reply:
    """Reply of ``tunegraph explain --json``."""
    return Reply(content=workspace.explain(recommendation_id).to_json())


def report_page(workspace: Workspace, recommendation_id: str, *, language: str) -> str:
    """The page of ``tunegraph report`` for an answer."""
    from recommender.report.page import page

    return page(workspace.pages.of_answer(recommendation_id), language=language)


def stats(workspace: Workspace) -> Reply:
    """Reply of ``tunegraph kb stats --json``."""
    return Reply(content=workspace.knowledge.stats())


def diagnose(
    workspace: Workspace, path: Path, *, hardware: str = "", model: str = "", least: float = 0.05
) -> Reply:
    """Reply of ``tunegraph diagnose --json`` for a profile or a log."""
    if is_log(path):
        return Reply(content={"path": path.name, **workspace.profiles.log(path).to_json()})
    return Reply(
        content=workspace.profiles.diagnose(path, least=least, hardware=hardware, model=model).to_json()
    )


def named_query(workspace: Workspace, name: str, given: Mapping[str, str]) -> Reply:
    """Reply of ``tunegraph kb query NAME --json``; the catalogue without a name."""
    if not name:
        listed = [
            [item.name, ", ".join(p.name for p in item.parameters), item.answers]
            for item in workspace.knowledge.catalogue()
        ]
        return Reply(content={"columns": ["query", "takes", "answers"], "rows": listed})
    if name not in {item.name for item in workspace.knowledge.catalogue()}:
        raise InputError(f"no query named {name[:60]!r}", hint="without a name, the catalogue is listed")
    answer = workspace.knowledge.query(name, given)
    return Reply(content={"columns": list(answer.columns), "rows": [list(row) for row in answer.rows]})
