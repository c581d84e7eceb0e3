"""The circumstances in which a gain was seen: lengths, batch, layout and software, by the names of facts."""

from collections.abc import Mapping

from kg.nouns.entities import Kind
from kg.nouns.values import Settings, Value
from kg.terms.dialects import DEGREES, degrees_of, statement
from kg.terms.meanings import degree_of

SIZE_KINDS = {
    "lengths": ("input_len", "output_len", "seq_len"),
    "batch": ("batch", "concurrency"),
    "layout": DEGREES,
}
"""Facts that are sizes, by what they are sizes of."""

SIZES = tuple(name for names in SIZE_KINDS.values() for name in names)
SOFTWARE = "software."
"""Prefix of a fact that names the release of a software."""


LOAD = frozenset({"input_len", "output_len", "seq_len", "concurrency"})
"""What is asked about, whatever is set: a decision is made for it."""


def sizes_of_shape(shape: Mapping[str, Value]) -> dict[str, float]:
    """Lengths, batch and concurrency that a shape states, by fact; its batch may be the global one."""
    stated = statement(shape).facts
    found = {name: stated[name] for name in SIZES if name in stated and name not in DEGREES}
    if "global_batch" in stated:
        found.setdefault("batch", stated["global_batch"])
    return {name: size for name, size in found.items() if isinstance(size, int | float)}


def circumstances(
    configuration: Mapping[str, Value],
    baseline: Mapping[str, Value],
    software: Mapping[str, Value],
    kind: Kind,
) -> dict[str, Value]:
    """Layout and software of a gain; a degree that the change itself moves is none of its circumstances.

    Releases belong to what others published. Own tests go on over releases: a change is a drift there.
    """
    after, before = degrees_of(configuration), degrees_of(baseline)
    found: dict[str, Value] = {
        name: size for name, size in after.items() if not baseline or before.get(name) == size
    }
    if kind in {Kind.PUBLISHED, Kind.CLAIMED}:
        found |= {f"{SOFTWARE}{name}": str(release) for name, release in software.items()}
    return found


_OFF = frozenset({"", "0", "false", "none", "off"})


def settings_replaced(
    configuration: Mapping[str, Value], baseline: Mapping[str, Value], kind: Kind
) -> Settings:
    """Settings of a published baseline that a strategy replaced; empty for the same without the strategy.

    A degree of 1 is off. Own tests compare one change with the same without it, whatever the control sets.
    """
    if kind not in {Kind.PUBLISHED, Kind.CLAIMED}:
        return Settings()
    return Settings(
        {
            name: value
            for name, value in baseline.items()
            if value != configuration.get(name) and not _is_off(name, value)
        }
    )


def _is_off(name: str, value: Value) -> bool:
    text = str(value).strip().lower()
    return text in _OFF or (text == "1" and degree_of(name) is not None)
