"""The workspace that a command uses, and the cache."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from cli.output import aside, moving_line, note
from cli.text.language import keep, language, localised, use_terms
from tunegraph.places import Places

if TYPE_CHECKING:
    from collections.abc import Mapping

    import typer

    from recommender.store.editor import Editor
    from recommender.workspace.workspace import Workspace


def show_step(text: str) -> None:
    """Show the current step in a line that moves, on a terminal alone."""
    if sys.stderr.isatty():
        moving_line(localised(text))


def settings(context: typer.Context) -> Places:
    """The folders of this run, and what the user has set."""
    return context.find_object(Places) or Places.resolve(None, os.environ)


def told_flags(context: typer.Context) -> dict[str, str]:
    """The options that the command line tells: the flag of each by its name."""
    told = {}
    for item in context.command.params:
        source = context.get_parameter_source(str(item.name))
        if source is not None and source.name == "COMMANDLINE":
            told[str(item.name)] = item.opts[0]
    return told


def use_own_settings(context: typer.Context) -> None:
    """Let the user's own entries of the settings registry win, and print at the end what they overrule."""
    own = settings(context).use_own_settings()

    def say_overruled() -> None:
        for text in own.overruled if own is not None else ():
            note(text)

    context.call_on_close(say_overruled)


def open_workspace(context: typer.Context) -> Workspace:
    """Open the workspace for reading; the first time, make it from the shipped knowledge."""
    opened = settings(context).open(aside, show_step)
    opened.upkeep.keep_completions()
    if language() != "en":
        from kg.terms.facts import FACTS
        from kg.terms.meanings import chinese_phrases

        use_terms({fact.label.partition(" (")[0]: fact.label_zh for fact in FACTS.values()})
        use_terms(chinese_phrases())
        use_terms(opened.knowledge.terms(language()))
    return opened


def with_defaults(
    context: typer.Context, workspace: Workspace, raw: Mapping[str, object]
) -> dict[str, object]:
    """A question with what it leaves open taken from ``tunegraph.toml``; a note in it says what was."""
    keep(str(raw[name]) for name in ("model", "op", "operator") if raw.get(name))
    user = settings(context).user
    if user.path is None:
        return dict(raw)
    defaults = {
        "hardware": user.hardware,
        "count": user.count,
        "framework": user.framework,
        "version": user.version,
    }
    return workspace.ask.questions.with_defaults(raw, defaults, str(user.path))


def server_of(context: typer.Context, server: str | None, hardware: str | None) -> str:
    """The server of the option, else that of ``tunegraph.toml`` where the question names no hardware."""
    return server or ("" if hardware else settings(context).user.server)


def open_for_writing(context: typer.Context) -> Editor:
    """The writing side of the workspace, not entered yet; the first time, the workspace is made."""
    from recommender.workspace.workspace import Workspace

    chosen = settings(context)
    chosen.make(aside, show_step)
    if language() != "en":
        open_workspace(context).close()  # for the names of the graph's nodes
    return Workspace.editor(chosen.workspace, cache=chosen.cache)
