"""Names of releases, in the order in which they came out.

Projects name releases in many ways: ``0.11.0rc1``, ``v0.23.0``, ``8.0.RC2``, ``0.5.6.post2``,
``core_v0.15.0``, ``26.1.0-beta.1-pytorch2.9.0``, ``main@182b75ea84ff``. The first run of numbers decides,
then what comes before or after the release of that number. Whatever else is glued on (another program's
version, a build) does not count.
"""

import re
from functools import lru_cache
from typing import TypeAlias

ReleaseKey: TypeAlias = "tuple[tuple[float, ...], int, tuple[int, ...]]"

BRANCHES = frozenset({"main", "master", "head", "latest", "nightly", "dev"})
"""Names that mean the newest state there is."""

_STAGES = {"dev": -4, "alpha": -3, "a": -3, "beta": -2, "b": -2, "rc": -1, "c": -1, "post": 1}
_NUMBERS = re.compile(r"(?<![0-9])\d+(?:\.\d+)*")
_STAGE = re.compile(r"^[._-]?(dev|alpha|a|beta|b|rc|c|post)[._-]?(\d+(?:\.\d+)*)?(?![a-z])")


@lru_cache(maxsize=2048)
def release_key(name: str) -> ReleaseKey:
    """A key that sorts releases of one software: 0.11.0rc1 < 0.11.0 = 0.11 < 0.11.0.post1 < 0.18 < main.

    Raises:
        ValueError: The name has no number and is no branch.
    """
    text = name.strip().lower()
    if re.split(r"[@/]", text, maxsplit=1)[0] in BRANCHES:
        return ((float("inf"),), 0, ())
    found = _NUMBERS.search(text)
    if found is None:
        raise ValueError(f"{name!r} names no release")
    numbers = [int(part) for part in found.group().split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    stage = _STAGE.match(text[found.end() :])
    if stage is None:
        return (tuple(numbers), 0, ())
    later = tuple(int(part) for part in (stage.group(2) or "0").split("."))
    return (tuple(numbers), _STAGES[stage.group(1)], later)


def release_order(name: str) -> str:
    """A text that sorts releases of one software as :func:`release_key` does; empty if the name is none."""
    try:
        numbers, stage, later = release_key(name)
    except ValueError:
        return ""
    most = 10**8 - 1
    slots = [*(min(int(min(number, most)), most) for number in numbers), *[0] * 6][:6]
    return ".".join(f"{number:08d}" for number in (*slots, 9 + stage, *later))
