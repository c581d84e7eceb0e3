"""The user's word before values or configurations of doubtful origin are run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.values import Settings

AllowValueOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-value", help="Allow this value of a case, though it is not a plain word or number."
    ),
]
AllowTrustOption = Annotated[
    bool, typer.Option("--allow-low-trust", help="Run configurations of low-trust sources without asking.")
]


def ask_for_distrusted(distrusted: Mapping[str, Settings], command: str) -> None:
    """Show what comes from sources of low trust alone, and ask whether it may run.

    Raises:
        InputError: The user says no, or there is nobody to ask.
    """
    from cli import output

    if not distrusted:
        return
    for arm, settings in distrusted.items():
        output.note(f"{arm} is from sources of low trust: {settings}")
    output.note(f"it would run in: {command}")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            f"{next(iter(distrusted))} is from sources of low trust, and nobody is here to be asked",
            hint="read the settings above; --allow-low-trust runs them",
        )
    if not typer.confirm("Run it?", default=False, err=True):
        raise InputError("nothing was run", hint="--allow-low-trust runs it unasked")
