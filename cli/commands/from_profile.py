"""``recommend --from-profile``: the causes that a diagnosis finds become the bottlenecks of the question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from recommender.workspace.workspace import Workspace

ProfileOption = Annotated[
    Path | None,
    typer.Option(
        "--from-profile", help="A profile: what tunegraph diagnose finds in it are the bottlenecks."
    ),
]


def with_profile(workspace: Workspace, raw: dict[str, object], path: Path | None) -> dict[str, object]:
    """The question with the bottlenecks of a profile; those that the user names himself win.

    Raises:
        InputError: The path is no profile.
    """
    if path is None:
        return raw
    from cli import output

    found = workspace.diagnose(path).diagnosis.bottlenecks()
    if not found:
        output.note(
            f"{path}: nothing costs a significant part of the step, so no bottleneck is taken from it"
        )
        return raw
    told = raw.get("bottlenecks")
    own: dict[str, object] = {}
    if isinstance(told, list):
        own = {str(name): None for name in told}
    elif isinstance(told, dict):
        own = {str(name): share for name, share in told.items()}
    output.note(
        "bottlenecks from the profile: " + ", ".join(f"{n} {share:.0%}" for n, share in found.items())
    )
    return {**raw, "bottlenecks": {**found, **own}}
