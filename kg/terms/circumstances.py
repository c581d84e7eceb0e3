"""The circumstances in which a gain was seen: lengths, batch, layout and software, by the names of facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.nouns.entities import Kind
from kg.nouns.values import Settings
from kg.terms.purposes import plain_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.values import Value

_SHAPES = {
    "input_len": ("input_len", "prompt_len", "isl"),
    "output_len": ("output_len", "osl"),
    "seq_len": ("seq_len", "sequence_length"),
    "batch": ("batch", "batch_size", "global_batch_size"),
    "concurrency": ("concurrency", "max_concurrency"),
}
"""Names of shapes by fact."""

SIZE_SPELLINGS = frozenset(name for names in _SHAPES.values() for name in names)
"""All names of shapes that state a fact."""

_DEGREES = {
    "tp": ("tensor_parallel_size", "tensor_model_parallel_size", "tp"),
    "pp": ("pipeline_parallel_size", "pipeline_model_parallel_size", "pp"),
    "dp": ("data_parallel_size", "dp"),
    "ep": ("expert_model_parallel_size", "expert_parallel_size", "moe_ep_size", "ep"),
    "cp": ("context_parallel_size", "cp"),
}
"""Settings that state a degree of parallelism, by fact."""

DEGREE_OF = {name: fact for fact, names in _DEGREES.items() for name in names}
"""Fact by the name of a setting, as :func:`kg.terms.purposes.plain_key` gives it."""

SIZE_KINDS = {
    "lengths": ("input_len", "output_len", "seq_len"),
    "batch": ("batch", "concurrency"),
    "layout": tuple(_DEGREES),
}
"""Facts that are sizes, by what they are sizes of."""

SIZES = tuple(name for names in SIZE_KINDS.values() for name in names)
SOFTWARE = "software."
"""Prefix of a fact that names the release of a software."""


def sizes_of_shape(shape: Mapping[str, Value]) -> dict[str, float]:
    """Lengths, batch and concurrency that a shape states, by fact."""
    found: dict[str, float] = {}
    for fact, spellings in _SHAPES.items():
        value = next((shape[key] for key in spellings if key in shape), None)
        if isinstance(value, int | float):
            found[fact] = value
    return found


def degrees_of(settings: Mapping[str, Value]) -> dict[str, float]:
    """Degrees of parallelism that settings state, by fact."""
    stated = {plain_key(name): value for name, value in settings.items()}
    found: dict[str, float] = {}
    for fact, spellings in _DEGREES.items():
        value = next((stated[key] for key in spellings if key in stated), None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            found[fact] = value
    return found


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
    """What a published baseline had on that a strategy took away; nothing for the same without it.

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
    return text in _OFF or (text == "1" and plain_key(name) in DEGREE_OF)
