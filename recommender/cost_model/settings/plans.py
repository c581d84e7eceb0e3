"""Configurations as columns: names, defaults, and the rules a layout must keep.

A batch of configurations is one array per setting, so that thousands cost little more than one.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from kg.errors import InputError
from kg.nouns.layout import DEGREES
from kg.terms.meanings import meaning_of
from kg.terms.precisions import GGUF_BITS
from kg.terms.purposes import plain_key
from recommender.cost_model.facts.physics import Floats, number_or_word, rows_of
from recommender.cost_model.settings.drafts import DRAFT_METHODS

Columns = dict[str, Floats]

_COMMON = ("bf16", "fp16", "fp32", "tf32", "int8", "fp8", "w4a16", "w4a8", "fp4", "w8a16")
PRECISIONS = (*_COMMON, *GGUF_BITS)
FROM_GGUF = len(_COMMON)
"""The first of the types of GGUF files, which count tables of the vocabulary too."""
WIDE = 4
"""How many of them, from the first, are not quantised."""
FEW_BITS = frozenset({"w4a16", "w4a8", "w8a16", *GGUF_BITS})
"""Those that are widened before the product; for serving alone."""
GROUPS = ("precision_attention", "precision_mlp", "precision_head")
"""Layer groups that may differ in precision: projections of the attention, feed-forward part, output head."""

_LISTS = {"precisions": PRECISIONS, "drafts": tuple(DRAFT_METHODS)}
_SETTINGS = rows_of("settings")
CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        row["setting"]: tuple(name for word in row["choices"].split() for name in _LISTS.get(word, (word,)))
        for row in _SETTINGS
        if row["choices"]
    }
)
PHASES: Mapping[str, Mapping[str, float | str]] = MappingProxyType(
    {
        phase: MappingProxyType(
            {row["setting"]: number_or_word(row["default"]) for row in _SETTINGS if row["phase"] == phase}
        )
        for phase in ("training", "serving")
    }
)
"""Phases and the settings they take, with their defaults; 0 means: follows from the others.

``graph`` .5 captures all but the attention, 1 all. Without ``prefill_graph`` the host launches the kernels of
a prefill one by one, as on Ascend always."""
TRAINING, SERVING = PHASES["training"], PHASES["serving"]
COUNTS, SHARES = (
    frozenset(row["setting"] for row in _SETTINGS if row["kind"] == kind) for kind in ("count", "share")
)


def columns(settings: Sequence[Mapping[str, object]], defaults: Mapping[str, float | str]) -> Columns:
    """One array per setting from configurations that name some of them.

    Raises:
        InputError: An unknown setting or value, or a size that is not a positive whole number.
    """
    found: Columns = {}
    spelt: dict[str, list[str]] = {}
    for key in dict.fromkeys(chain.from_iterable(settings)):
        spelt.setdefault(name_of(key, defaults), []).append(key)
    for name, default in defaults.items():
        if name not in spelt:
            found[name] = np.full(len(settings), number_of(name, default))
            continue
        key, *others = spelt[name]
        values = [one.get(key, default) for one in settings]
        if others:  # the last of a configuration's spellings holds
            values = [
                next((one[each] for each in reversed([*one]) if each in spelt[name]), default)
                for one in settings
            ]
        found[name] = _numbers_of(name, values)
        check(name, default, found[name])
    return found


def check(name: str, default: float | str, array: Floats) -> None:
    """Refuse numbers that a setting cannot have.

    Raises:
        InputError: One of them; the message names the setting.
    """
    if name in COUNTS and not (default == 0 and not np.any(array)):
        bad = array[(array < 1) | (array != np.floor(array))]
        if len(bad) and not (default == 0 and np.all(bad == 0)):
            raise InputError(f"{name}: a whole number of at least 1, not {bad[0]:g}")
    if name in SHARES and np.any((array < 0) | (array > 1)):
        raise InputError(f"{name}: a share between 0 and 1")
    if np.any(array < 0) or not np.all(np.isfinite(array)):
        raise InputError(f"{name}: not below 0")


@lru_cache(maxsize=4096)
def canonical_name(key: str) -> str:
    """The cost model's name for a setting in any spelling; its own, plain, where there is none."""
    meaning = meaning_of(key)
    return plain_key(key) if meaning is None else DEGREES.get(meaning.fact, meaning.fact)


def in_own_words(key: str, values: Sequence[object], program: str = "") -> tuple[str, list[object]]:
    """A setting by the cost model's name and values, if a program's spelling of it says such; else itself.

    Args:
        key: In any spelling.
        values: As the program writes them.
        program: Whose spelling is looked at first.
    """
    meaning = meaning_of(key, program) or meaning_of(key)
    found = [
        value
        if meaning is None or not isinstance(value, str | int | float) or not meaning.reads(value)
        else meaning.says(value)
        for value in values
    ]
    is_said = found != [*values] and None not in found
    return (canonical_name(key), found) if is_said else (key, [*values])


def name_of(key: str, defaults: Mapping[str, object]) -> str:
    """The canonical name of a setting.

    Raises:
        InputError: There is none; the hint has the nearest.
    """
    name = canonical_name(key)
    if name not in defaults:
        from difflib import get_close_matches

        near = get_close_matches(name, defaults, n=3, cutoff=0.4) or list(defaults)
        raise InputError(f"no setting named {key!r}", hint=f"known: {', '.join(near)}")
    return name


_PLAIN = frozenset({str, int, float, bool})


def _numbers_of(name: str, values: Sequence[object]) -> Floats:
    """The numbers of a setting's values, each value read once."""
    if not set(map(type, values)) <= _PLAIN:
        return np.array([number_of(name, value) for value in values], dtype=np.float64)
    read = {value: number_of(name, value) for value in dict.fromkeys(values)}
    return np.array([read[value] for value in values], dtype=np.float64)


def number_of(name: str, value: object) -> float:
    """The number of a value of a setting: a choice by its place, a truth as 0 or 1.

    Raises:
        InputError: The setting has no such value.
    """
    if name in CHOICES:
        text = str(value).lower()
        if name.startswith("precision") and text != "same":
            from recommender.cost_model.facts.device import precision

            text = precision(text)
        if text not in CHOICES[name]:
            raise InputError(f"{name}: {value!r} is none of {', '.join(CHOICES[name])}")
        return float(CHOICES[name].index(text))
    if isinstance(value, str) and value.lower() in {"true", "on", "yes", "false", "off", "no"}:
        return float(value.lower() in {"true", "on", "yes"})
    try:
        return float(value)  # type: ignore[arg-type]  # what is no number is refused just below
    except (TypeError, ValueError):
        raise InputError(f"{name}: {value!r} is not a number") from None


def with_groups(settings: Columns) -> Columns:
    """The columns with the precision of every layer group filled in as a number of ``PRECISIONS``.

    Heads of quantised models stay in 16 bit where nothing else is said: ``lm_head`` is among what recipes of
    compressed-tensors ignore and ModelSlim leaves as FLOAT. Types of GGUF files count all tensors.
    """
    found = dict(settings)
    whole = found["precision"]
    for name in GROUPS:
        usual = (
            np.where((whole >= WIDE) & (whole < FROM_GGUF), 0.0, whole) if name == "precision_head" else whole
        )
        found[name] = np.where(found[name] == 0, usual, found[name] - 1)
    return found


class LayoutError(InputError):
    """An impossible layout.

    Attributes:
        holds: Which configurations keep the rule that others break, shape (n,).
    """

    def __init__(self, message: str, holds: NDArray[np.bool_]) -> None:
        super().__init__(message)
        self.holds = holds


def rule(holds: NDArray[np.bool_], text: str) -> None:
    """Refuse where a rule of the layout is broken.

    Raises:
        LayoutError: It does not hold for some configuration; the message names rule and place.
    """
    if not np.all(holds):
        where = int(np.argmin(holds))
        suffix = f" (configuration {where + 1} of {len(holds)})" if len(holds) > 1 else ""
        raise LayoutError(f"layout: {text}{suffix}", holds)


def divides(part: Floats, total: Floats) -> NDArray[np.bool_]:
    """True for the configurations in which ``part`` divides ``total``."""
    return np.asarray(np.mod(total, np.maximum(part, 1)) == 0)
