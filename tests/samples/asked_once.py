"""Answers of the shipped workspace that several tests look at: each question is asked once."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from recommender.workspace.workspace import Workspace

T = TypeVar("T")


def asked_once(ask: Callable[..., T]) -> Callable[..., T]:
    """Keep what a function of a workspace answers, by how its other arguments are written."""
    answers: dict[str, T] = {}

    @wraps(ask)
    def kept(workspace: Workspace, *args: Any, **more: Any) -> T:
        question = repr((args, sorted(more.items())))
        if question not in answers:
            answers[question] = ask(workspace, *args, **more)
        return answers[question]

    return kept
