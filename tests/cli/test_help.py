"""The help of every command: a whole summary on a narrow screen, and an example."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from cli.app import app
from cli.text.width import columns_of

WITHOUT_EXAMPLE = {"tell", "worker", "plan", "calibrate"}
"""Commands whose arguments cannot be shown in one line."""


def groups(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    context = typer.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        if hasattr(inner, "list_commands"):
            yield from groups(inner, (*path, name))


GROUPS = dict(groups(typer.main.get_command(app)))


@pytest.mark.parametrize("path", GROUPS, ids=" ".join)
def test_no_summary_is_cut_at_80_columns(path: tuple[str, ...]) -> None:
    context = typer.Context(GROUPS[path], terminal_width=80, info_name="tunegraph")
    shown = GROUPS[path].get_help(context).splitlines()[1:]
    assert [line for line in shown if columns_of(line) > 80 or line.endswith("...")] == []
    listed = shown[max(place for place, line in enumerate(shown) if "--help" in line) :]
    names = GROUPS[path].list_commands(context)
    commands = [line for line in listed if line.startswith("  ") and line.split()[0] in names]
    assert len(commands) == len(names)  # a summary that did not fit would go on in another line
    assert len([line for line in listed if line.startswith("  ")]) == len(names) + 1


@pytest.mark.parametrize("path", GROUPS, ids=" ".join)
def test_every_command_shows_an_example(path: tuple[str, ...]) -> None:
    context = typer.Context(GROUPS[path])
    for name in GROUPS[path].list_commands(context):
        command = GROUPS[path].get_command(context, name)
        if not hasattr(command, "list_commands") and name not in WITHOUT_EXAMPLE:
            assert "Example: tunegraph " in command.help, name


def test_the_commands_are_grouped() -> None:
    help_text = GROUPS[()].get_help(typer.Context(GROUPS[()]))
    headings = [
        line[:-1] for line in help_text.splitlines() if line.endswith(":") and not line.startswith(" ")
    ]
    assert headings[-5:] == ["Ask", "Understand", "Search and test", "Knowledge", "Operate"]


def test_many_options_stand_under_headings() -> None:
    recommend = GROUPS[()].get_command(typer.Context(GROUPS[()]), "recommend")
    shown = recommend.get_help(
        typer.Context(recommend, terminal_width=80, info_name="tunegraph")
    ).splitlines()
    headings = [line[:-1] for line in shown if line.endswith(":") and not line.startswith(" ")]
    assert headings[:3] == ["Arguments", "Question", "From files"]
    assert headings[-2:] == ["Output", "Other options"]
    assert sum(line.lstrip().startswith("-") for line in shown) == sum(
        not getattr(item, "hidden", False) for item in recommend.params
    )


@pytest.mark.parametrize("path", GROUPS, ids=" ".join)
def test_few_options_are_without_a_heading(path: tuple[str, ...]) -> None:
    """A new option of a long help has its place in ``cli/late.py``."""
    context = typer.Context(GROUPS[path])
    for name in GROUPS[path].list_commands(context):
        command = GROUPS[path].get_command(context, name)
        if not hasattr(command, "list_commands"):
            text = command.get_help(typer.Context(command, terminal_width=80))
            rest = text.partition("Other options:")[2].splitlines()
            assert sum(line.lstrip().startswith("-") for line in rest) <= 4, name
