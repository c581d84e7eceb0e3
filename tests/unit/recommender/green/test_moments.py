"""Moments as people write them, on a clock that summer time moves."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from kg.errors import InputError
from recommender.green.moments import moment_of

AUTUMN = datetime(2026, 10, 24, 10, 0, tzinfo=UTC)  # noon in Berlin, the day before clocks go back


@pytest.fixture
def _berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_berlin")
@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("tomorrow 08:00", "2026-10-25T07:00"),
        ("monday 09:00", "2026-10-26T08:00"),
        ("18:30", "2026-10-24T16:30"),
        ("11:00", "2026-10-25T10:00"),
        ("2026-10-26 08:00", "2026-10-26T07:00"),
        ("2026-10-26T08:00Z", "2026-10-26T08:00"),
        ("+24h", "2026-10-25T10:00"),
    ],
)
def test_times_are_of_the_clock_on_that_day(text: str, utc: str) -> None:
    wanted = datetime.fromisoformat(f"{utc}+00:00")
    fixed = AUTUMN.astimezone()  # an offset that does not know of winter
    assert moment_of(text, AUTUMN) == moment_of(text, fixed) == wanted


@pytest.mark.parametrize(
    "text", ["", "soon", "25:00", "noday 08:00", "+99999999999d", "9999-12-31T23:59-12:00"]
)
def test_what_is_no_moment_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(InputError, match="is no time"):
        moment_of(text, AUTUMN)
