"""Moments as people write them: ``tomorrow 08:00``, ``monday 9:00``, ``+12h``, ``2026-11-24 08:00``."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from kg.errors import InputError

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_CLOCK = re.compile(r"(?:(?P<day>[a-z]+)\s+)?(?P<hour>\d{1,2}):(?P<minute>\d\d)")
_SPAN = re.compile(r"\+\s*(\d+(?:\.\d+)?)\s*(min|m|h|d)")
_SECONDS = {"min": 60, "m": 60, "h": 3600, "d": 86400}


def moment_of(text: str, now: datetime) -> datetime:
    """The moment that a text means, in the zone of ``now`` where it names none.

    A time of day alone is the next one; a weekday is the next such day whose time has not passed.

    Raises:
        InputError: It is none.
    """
    plain = text.strip().lower()
    if match := _SPAN.fullmatch(plain):
        return now + timedelta(seconds=float(match[1]) * _SECONDS[match[2]])
    if match := _CLOCK.fullmatch(plain):
        day, hour, minute = match["day"], int(match["hour"]), int(match["minute"])
        if hour < 24 and minute < 60 and (day is None or day in {*_DAYS, "today", "tomorrow"}):
            at = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
            if day == "tomorrow":
                return at + timedelta(days=1)
            if day in _DAYS:
                at += timedelta(days=(_DAYS.index(day) - now.weekday()) % 7)
            if at <= now and day != "today":
                at += timedelta(days=7 if day in _DAYS else 1)
            return at
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputError(
            f"{text!r} is no time",
            hint="such as 'tomorrow 08:00', '18:30', 'monday 09:00', +12h or '2026-11-24 08:00'",
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=now.tzinfo)
