"""What a setting is for: tuning, layout, model, training or place, by ``data/settings/purposes.yaml``."""

from __future__ import annotations

import re
from enum import StrEnum
from fnmatch import translate
from functools import cache

import data

QUANTISATION = "quantization"
"""Flag that vLLM and SGLang name the format of quantised weights with."""


class Purpose(StrEnum):
    """What a setting is for."""

    TUNING = "tuning"
    LAYOUT = "layout"
    MODEL = "model"
    TRAINING = "training"
    SITE = "site"


def plain_key(key: str) -> str:
    """A key without leading dashes, in lower case, with ``_`` for ``-``."""
    return key.strip().lstrip("-").replace("-", "_").lower()


@cache
def purpose(key: str) -> Purpose:
    """The purpose of a setting by its key, in any spelling; tuning where no pattern knows it."""
    plain = plain_key(key)
    return next((kind for kind, pattern in _patterns() if pattern.fullmatch(plain)), Purpose.TUNING)


@cache
def _patterns() -> tuple[tuple[Purpose, re.Pattern[str]], ...]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster, where it was built
    content = yaml.load(data.text("settings/purposes.yaml"), Loader=loader)  # noqa: S506  # both are safe
    return tuple(
        (Purpose(kind), re.compile("|".join(translate(pattern) for pattern in patterns)))
        for kind, patterns in content.items()
    )
