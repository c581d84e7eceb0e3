"""Times as files write them: with their zone, or by a local clock that summer time moves."""

import math
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kg.errors import InputError


def epoch_s(text: str) -> tuple[float, bool]:
    """Seconds of the Unix epoch of a time, and whether it carries its zone; without one it is read as UTC.

    Raises:
        ValueError: It is no time.
    """
    plain = text.strip()
    try:
        moment = datetime.fromisoformat(plain)
        has_zone = moment.tzinfo is not None
        return (moment if has_zone else moment.replace(tzinfo=UTC)).timestamp(), has_zone
    except (ValueError, OverflowError):
        raise ValueError(f"{plain[:40]!r} is no time (expected such as 2026-01-31 14:30)") from None


def zone_of(name: str) -> tzinfo:
    """A time zone by its IANA name, ``UTC`` or an offset such as ``+01:00``.

    Raises:
        InputError: There is none of that name.
    """
    if name.upper() in {"UTC", "Z", "GMT"}:
        return UTC
    try:
        if name[:1] in "+-":
            zone = datetime.fromisoformat(f"2000-01-01T00:00:00{name}").tzinfo
            if zone is not None:
                return zone
        return ZoneInfo(name)
    except (ValueError, ZoneInfoNotFoundError, OSError):
        raise InputError(f"no time zone {name!r}", hint="such as Europe/Berlin, UTC or +01:00") from None


def from_local(walls: Iterable[float], clock: tzinfo) -> tuple[list[float], int]:
    """Times of a local clock as seconds of the Unix epoch, and how many lie where summer time changes.

    Args:
        walls: What the clock showed, as though it were UTC, in the order of the file; the second pass
            through the hour that autumn doubles is the later one.
        clock: Its zone.
    """
    result: list[float] = []
    last_wall, seen, changed, fold = -math.inf, set[float](), 0, 0
    for wall in walls:
        naive = datetime.fromtimestamp(wall, UTC).replace(tzinfo=None)
        one = naive.replace(tzinfo=clock, fold=0)
        two = naive.replace(tzinfo=clock, fold=1)
        if one.utcoffset() == two.utcoffset():
            fold = 0
            result.append(one.timestamp())
        else:
            changed += 1
            fold = 1 if fold or wall in seen or wall < last_wall else 0
            result.append((two if fold else one).timestamp())
            seen.add(wall)
        last_wall = wall
    return result, changed
