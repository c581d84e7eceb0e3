"""The user's word before a configuration runs that comes from a source of low trust."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.experiment.verification import Candidate

AllowValueOption = Annotated[
    list[str] | None,
    typer.Option("--allow-value", help="Run this value although it holds more than letters and digits."),
]
AllowTrustOption = Annotated[
    bool, typer.Option("--allow-low-trust", help="Run configurations of low-trust sources unasked.")
]


def ask_for_distrusted(tried: Mapping[str, Candidate], command: str) -> None:
    """Show what comes from sources of low trust alone, and ask whether it may run.

    Raises:
        InputError: The user says no, or there is nobody to ask.
    """
    from cli import output
    from kg.nouns.entities import Trust
    from kg.nouns.values import show

    doubted = {arm: item for arm, item in tried.items() if item.trust is Trust.LOW}
    if not doubted:
        return
    for arm, item in doubted.items():
        sets = ", ".join(f"{name}={show(value)}" for name, value in item.configuration.items())
        output.note(f"{arm} is from sources of low trust: {sets}")
    output.note(f"it would run in: {command}")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            f"{next(iter(doubted))} is from sources of low trust, and nobody is here to be asked",
            hint="read the settings above; --allow-low-trust runs them",
        )
    if not typer.confirm("Run it?", default=False, err=True):
        raise InputError("nothing was run", hint="--allow-low-trust runs it unasked")
