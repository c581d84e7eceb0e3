"""Purposes of settings, from ``data/settings/purposes.yaml``."""

import re
from collections.abc import Iterable
from enum import StrEnum
from fnmatch import translate
from functools import cache, lru_cache

from kg.terms.meanings import divides, table

QUANTISATION = "quantization"
"""Flag that vLLM and SGLang name the format of quantised weights with."""


_SECTIONS = "sections"


class Purpose(StrEnum):
    """Purpose of a setting."""

    TUNING = "tuning"
    LAYOUT = "layout"
    MODEL = "model"
    TRAINING = "training"
    SITE = "site"


@lru_cache(maxsize=8192)
def plain_key(key: str) -> str:
    """A key without leading dashes, in lower case, with ``_`` for ``-``."""
    return key.strip().lstrip("-+").replace("-", "_").lower()


@cache
def purpose(key: str) -> Purpose:
    """The purpose of a setting by its key, in any spelling; tuning where no pattern knows it."""
    plain = plain_key(key)
    if divides(key):
        return Purpose.LAYOUT
    section, _, flag = plain.rpartition(".")
    names = (plain, flag) if section.rpartition(".")[2] in table("purposes")[_SECTIONS] else (plain,)
    kinds = (kind for name in names for kind, pattern in _patterns() if pattern.fullmatch(name))
    return next(kinds, Purpose.TUNING)


@cache
def _patterns() -> tuple[tuple[Purpose, re.Pattern[str]], ...]:
    rows = table("purposes").items()
    return tuple((Purpose(kind), any_of(patterns)) for kind, patterns in rows if kind != _SECTIONS)


def any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    """One expression for some patterns; nothing fits it where there are none."""
    return re.compile("|".join(map(translate, patterns)) or r"(?!)")
