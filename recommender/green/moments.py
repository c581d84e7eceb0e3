"""Moments as people write them: ``tomorrow 08:00``, ``monday 9:00``, ``+12h``, ``2026-11-24 08:00``."""

import re
from datetime import datetime, timedelta

from kg.errors import InputError

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_CLOCK = re.compile(r"(?:(?P<day>[a-z]+)\s+)?(?P<hour>\d{1,2}):(?P<minute>\d\d)")
_SPAN = re.compile(r"\+\s*(\d+(?:\.\d+)?)\s*(min|m|h|d)")
_SECONDS = {"min": 60, "m": 60, "h": 3600, "d": 86400}


def moment_of(text: str, now: datetime) -> datetime:
    """The moment that a text means; without a zone it is of this machine's clock, summer time as it is then.

    A time of day alone is the next one; a weekday is the next such day whose time has not passed.

    Args:
        text: As a person wrote it.
        now: The present, with any zone.

    Raises:
        InputError: It is none, or one beyond all calendars.
    """
    plain = text.strip().lower()
    try:
        if match := _SPAN.fullmatch(plain):
            return (now + timedelta(seconds=float(match[1]) * _SECONDS[match[2]])).astimezone()
        wall = _next_wall(plain, now.astimezone().replace(tzinfo=None))
        return (datetime.fromisoformat(text.strip()) if wall is None else wall).astimezone()
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f"{text!r} is no time",
            hint="such as 'tomorrow 08:00', '18:30', 'monday 09:00', +12h or '2026-11-24 08:00'",
        ) from None


def _next_wall(plain: str, here: datetime) -> datetime | None:
    """The next time that a wall clock shows a day and time; None if the text names none."""
    match = _CLOCK.fullmatch(plain)
    if match is None:
        return None
    day, hour, minute = match["day"], int(match["hour"]), int(match["minute"])
    if not (hour < 24 and minute < 60 and (day is None or day in {*_DAYS, "today", "tomorrow"})):
        return None
    at = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if day == "tomorrow":
        return at + timedelta(days=1)
    if day in _DAYS:
        at += timedelta(days=(_DAYS.index(day) - here.weekday()) % 7)
    if at <= here and day != "today":
        at += timedelta(days=7 if day in _DAYS else 1)
    return at
