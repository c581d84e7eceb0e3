"""Faults as problem details: RFC 9457, with the exit code of the command line as ``code``."""

from collections.abc import Mapping
from http import HTTPStatus

from kg.errors import (
    InfeasibleError,
    InputError,
    MissingDependencyError,
    NoEvidenceError,
    TuningError,
)

MEDIA_TYPE = "application/problem+json"


class RefusedError(Exception):
    """A request that is refused for its form: no fault of the question in it.

    Args:
        status: Of HTTP.
        detail: What is wrong.
        hint: What to do.
        headers: To send with the refusal.
    """

    def __init__(
        self, status: int, detail: str, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.hint = hint
        self.headers = headers

    def to_json(self) -> dict[str, object]:
        """Problem details."""
        code = 1 if self.status in {500, 503} else 2
        return details(self.status, self.detail, code=code, hint=self.hint)


def details(status: int, detail: str, *, code: int, hint: str = "") -> dict[str, object]:
    """Problem details; ``type`` is about:blank, so that the title is the phrase of the status."""
    content: dict[str, object] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": " ".join(detail.split()),
        "code": code,
    }
    return {**content, "hint": hint} if hint else content


def status_of(error: TuningError) -> int:
    """The status of HTTP for an error of the program."""
    if isinstance(error, NoEvidenceError | InfeasibleError):
        return 422
    if isinstance(error, InputError):
        return 400
    return 501 if isinstance(error, MissingDependencyError) else 503
