"""Writing of configurations that Optuna is to try."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kg.errors import InputError
from kg.nouns.entities import Configuration


def queue(configurations: Sequence[Configuration]) -> str:
    """Configurations as JSON, for ``study.enqueue_trial`` one by one, best first.

    Raises:
        InputError: A parameter that is a list.
    """
    for configuration in configurations:
        for name, value in configuration.items():
            if isinstance(value, tuple):
                raise InputError(f"Optuna has no parameters that are lists, such as {name}")
    return json.dumps([item.to_json() for item in configurations], indent=2, ensure_ascii=False) + "\n"
