"""A plan as a launch script: the diff on the screen, the new script in a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.output import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.questions.launches.running import RunningSetting
    from recommender.answers.answer import Answer
    from recommender.answers.deploying.files import DeploymentFiles

WriteOption = Annotated[
    str,
    typer.Option(
        "--write",
        help="Write the plan into a copy of the script of --from-command (or a new script) under this name, "
        "and print the diff; - prints it alone.",
    ),
]


WriteDirOption = Annotated[
    str,
    typer.Option(
        "--write-dir",
        help="Write the plan as files that deploy it, into a new folder: a script for each role, "
        "compose, Kubernetes, LeaderWorkerSet.",
    ),
]


def write_deployment(deployment: DeploymentFiles, folder: str) -> None:
    """Write the files that deploy a plan, and say what is left to fill in.

    Raises:
        InputError: The folder exists, or its place takes nothing.
    """
    from cli import output

    target = Path(folder)
    deployment.write(target)
    files = ", ".join(f"{target}/{name}" for name in deployment.texts)
    say(f"\nWritten, each read back as it should start: {files}")
    for line in deployment.notes:
        output.note(line)


def refuse_unwritable(target: Path, otherwise: str = "") -> None:
    """Refuse a place where no new script can be written, before anything is done for it.

    Raises:
        InputError: It is there already, or its folder is not, or takes nothing.
    """
    from kg.errors import InputError

    if target.exists():
        raise InputError(f"{target} exists", hint=f"name a file that does not{otherwise}")
    if not target.parent.is_dir():
        raise InputError(f"{target.parent}: no such folder")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"{target.parent}: nothing can be written there")


def write_script(
    answer: Answer,
    path: str,
    from_command: str | None,
    server: int | None = None,
    running: Sequence[RunningSetting] = (),
) -> None:
    """Print a plan as a diff of the user's script, and write the new script.

    Raises:
        InputError: The file exists, the script came from standard input or changed since it was answered, or
            there is nothing to write.
    """
    from cli import output
    from cli.diagnosis.finding_text import launch_settings
    from ingest.questions.launches.launch_facts import read_text
    from ingest.questions.launches.model_files import text_beside
    from kg.errors import InputError

    if from_command == "-":
        raise InputError("--write needs the script as a file", hint="--from-command serve.sh")
    if from_command is not None and from_command.endswith(".ipynb"):
        raise InputError("a notebook is read and not written", hint="--write needs a script")
    target = Path(path)
    if path != "-":
        refuse_unwritable(target, ", or - to see the diff alone")
    script, name = ("", "") if from_command is None else (read_text(Path(from_command)), from_command)
    if running and tuple(running) != launch_settings(from_command, server):
        raise InputError(f"{from_command} changed while it was read", hint="ask again")
    suffix = "" if from_command is None else Path(from_command).suffix
    new_name = f"tuned{suffix or '.sh'}" if path == "-" else path
    folder = Path(name).parent
    made = answer.tuned_script(
        script, name or new_name, new_name, server, beside=lambda file: text_beside(folder, file)
    )
    print(made.diff or "nothing to change\n", end="")
    if path != "-":
        made.write(target, None if from_command is None else Path(from_command))
    for note in answer.notes:
        output.note(note)
    for line in made.reasons:
        say(f"# {line}")
    for line in made.unwritten:
        output.note(f"not written: {line}")
    if made.proof and made.diff:
        say(f"# {made.proof}")
