"""The status of a fault is what a client acts on, and its code is that of the command line."""

import pytest

from kg import errors
from recommender.service.problem_details import RefusedError, status_of


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.NoEvidenceError("x"), 422),
        (errors.MissingFactError("x"), 422),
        (errors.InfeasibleError("x"), 422),
        (errors.InputError("x"), 400),
        (errors.UnknownEntityError("x"), 400),
        (errors.MissingDependencyError("x"), 501),
        (errors.WorkspaceError("x"), 503),
    ],
)
def test_each_error_has_the_status_of_what_its_reader_can_do(error: errors.TuningError, status: int) -> None:
    assert status_of(error) == status


def test_a_refusal_says_what_to_do_in_one_line() -> None:
    said = RefusedError(413, "too\n large", "send less").to_json()
    assert (said["status"], said["code"], said["detail"], said["hint"]) == (413, 2, "too large", "send less")
    assert said["title"] == "Request Entity Too Large"
    assert [RefusedError(status, "x").to_json()["code"] for status in (500, 503)] == [1, 1]
    assert "hint" not in RefusedError(400, "x").to_json()
