"""Questions answered lately, so that ``explain ID`` and an outcome can refer to an answer by its id."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kg.errors import UnknownEntityError
from kg.nouns.values import Settings
from kg.rows.answers import AnswerFile
from recommender.experiment.metadata import ExperimentSubject
from recommender.ranking.change import Change

if TYPE_CHECKING:
    from pathlib import Path

    from kg.rows.answers import AnsweredQuestion
    from recommender.answers.answer import Answer


def remember(path: Path, answer: Answer, *, question: str, k: int, version: str) -> bool:
    """Keep a question with the starts and recommendations that answered it.

    Args:
        path: The file of answered questions, made when needed.
        answer: The answer.
        question: The question as JSON.
        k: Number of recommendations that were asked for.
        version: Version of the knowledge that the answer rests on.

    Returns:
        False if the file cannot be written.
    """
    choices: dict[str, dict[str, object]] = {
        item.id: {
            "configuration": item.configuration.to_json(),
            "strategy": item.strategy,
            "bottleneck": item.bottleneck,
            "flags": list(item.flags),
        }
        for item in answer
    }
    for start in answer.starts:
        choices[start.id] = {
            "configuration": start.configuration.to_json(),
            "strategy": "",
            "bottleneck": "",
            "recipes": list(start.recipes),
            "layout": {} if start.layout is None else start.layout.to_json(),
            "flags": start.words,
        }
    contents = {
        key: json.dumps(content, ensure_ascii=False, sort_keys=True) for key, content in choices.items()
    }
    return AnswerFile(path).remember(contents, question=question, k=k, version=version)


def question_of(path: Path, prefix: str) -> AnsweredQuestion:
    """Return the newest question whose recommendation has an id that begins with ``prefix``.

    Raises:
        UnknownEntityError: No recommendation is kept under this id, or several are.
    """
    questions = AnswerFile(path).questions(prefix) if prefix else []
    if len({question.id for question in questions}) > 1:
        raise UnknownEntityError(f"{prefix} begins several ids", hint="give more of it")
    if not questions:
        raise _unknown(prefix)
    return questions[0]


def newest_question(path: Path) -> AnsweredQuestion | None:
    """The question that was answered last; None where none is kept."""
    return next(iter(AnswerFile(path).questions("")), None)


def _unknown(prefix: str) -> UnknownEntityError:
    return UnknownEntityError(
        f"no recommendation {prefix!r} is remembered", hint="ask again: tunegraph recommend"
    )


def subject_of(path: Path, recommendation: str) -> ExperimentSubject:
    """The subject of an A/B test that tries a remembered recommendation.

    Raises:
        UnknownEntityError: None begins with this id, or several do.
    """
    question = question_of(path, recommendation)
    content = _content(path, question.id)
    tried = Change(
        id=question.id,
        configuration=Settings(content["configuration"]),
        strategy=content["strategy"],
        bottleneck=content["bottleneck"],
        recipes=tuple(content.get("recipes", ())),
        layout=Settings(content.get("layout", {})),
        flags=tuple(content.get("flags", ())),
    )
    return ExperimentSubject(question=json.loads(question.question), single=tried)


def configuration_of(path: Path, recommendation: str) -> Settings:
    """Configuration of a remembered recommendation.

    Raises:
        UnknownEntityError: None has this id.
    """
    return Settings(_content(path, recommendation)["configuration"])


def _content(path: Path, recommendation: str) -> dict[str, Any]:
    text = AnswerFile(path).content(recommendation)
    if text is None:
        raise _unknown(recommendation)
    content: dict[str, Any] = json.loads(text)
    return content
