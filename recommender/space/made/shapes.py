"""Sizes of a kernel's problem, as a shape tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kg.errors import InputError

LARGEST = 2**31 - 1
"""Largest side of a problem: kernels index sides with 32 bits, and nothing measured is near it."""


def sizes(
    shape: Mapping[str, object], names: Sequence[str], *, may_lack: Sequence[str] = ()
) -> dict[str, int]:
    """The sizes that a kernel needs.

    Args:
        shape: As the user gave it; names in any case.
        names: That are required.
        may_lack: That are optional.

    Raises:
        InputError: Sizes that are missing, unknown or none; all of them at once.
    """
    by_name = {name.upper(): value for name, value in shape.items()}
    wanted = (*names, *may_lack)
    example = "--shape " + ",".join(f"{name}=4096" for name in names)
    example += f"; it may also have {', '.join(may_lack)}" if may_lack else ""
    faults = [f"{name} is missing" for name in names if name.upper() not in by_name]
    faults += [
        f"{name} is none of its sizes" for name in shape if name.upper() not in {x.upper() for x in wanted}
    ]
    found = {}
    for name in wanted:
        value = by_name.get(name.upper())
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST:
            faults.append(f"{name}: {value!r} is no whole number between 1 and {LARGEST}")
        else:
            found[name] = value
    if faults:
        raise InputError("; ".join(faults), hint=example)
    return found


def power_above(size: int, least: int) -> int:
    """The power of two that holds a size."""
    return max(1 << (size - 1).bit_length(), least)


def powers(low: int, high: int) -> list[object]:
    """Powers of two between two, both included."""
    return [1 << k for k in range(low.bit_length() - 1, high.bit_length()) if low <= 1 << k <= high]
