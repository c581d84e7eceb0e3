"""Configurations as a restriction of Kernel Tuner, which then compiles and times nothing else of the space.

The text is Python for ``tune_kernel(..., restrictions=restrictions)``; the space stays as its owner has it.
"""

from __future__ import annotations

from collections.abc import Sequence

from kg.errors import InputError
from kg.nouns.entities import Configuration


def restriction(configurations: Sequence[Configuration]) -> str:
    """A restriction that lets these configurations pass.

    A parameter that a configuration does not set is left free in it.

    Raises:
        InputError: A name is no Python name: Kernel Tuner reads restrictions as expressions of names.
    """
    lines = []
    for configuration in configurations:
        for name in configuration:
            if not name.isidentifier():
                raise InputError(
                    f"{name!r} is no name in a restriction", hint="--format kernel-tuner, yaml or json"
                )
        settings = configuration.to_json()
        terms = " and ".join(f"{name} == {value!r}" for name, value in settings.items())
        lines.append(f"({terms})")
    alternatives = " or ".join(lines)
    return f"restrictions = [{alternatives!r}]\n"
