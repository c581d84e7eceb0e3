"""The commands of ``tunegraph``, assembled."""

import logging
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.context import use_own_settings
from cli.late import LateTyper
from cli.output import make_harmless
from cli.text.language import choose_language, use_language
from tunegraph.places import Places

app = LateTyper(
    name="tunegraph",
    help="Recommend tuning configurations from a knowledge graph of measured cases.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for heading, commands in {
    "Ask": {
        "recommend": "cli.commands.recommend:recommend",
        "check": "cli.commands.check:check",
        "size": "cli.commands.size:size",
        "explain": "cli.commands.explain:explain",
        "estimate": "cli.commands.estimate:estimate",
        "predict": "cli.commands.predict:predict",
        "support": "cli.kb.support:support",
    },
    "Understand": {
        "diagnose": "cli.commands.diagnose:diagnose",
        "similar": "cli.commands.similar:similar",
        "sensitivity": "cli.commands.sensitivity:sensitivity",
    },
    "Search and test": {
        "tune": "cli.tune.commands:tune",
        "search": "cli.search.commands:app",
        "ab": "cli.ab.commands:app",
    },
    "Knowledge": {
        "ingest": "cli.commands.ingest:ingest",
        "kb": "cli.kb.commands:app",
        "evolve": "cli.commands.evolve:evolve",
        "calibrate": "cli.commands.calibrate:calibrate",
    },
    "Operate": {
        "init": "cli.commands.init:init",
        "examples": "cli.commands.examples:examples",
        "report": "cli.commands.report:report",
        "green": "cli.green.commands:app",
        "serve": "cli.service.serve:serve",
        "mcp": "cli.service.mcp:mcp",
        "workspace": "cli.workspace.commands:app",
        "doctor": "cli.commands.doctor:doctor",
    },
}.items():
    for name, place in commands.items():
        app.add(name, place, heading)


def _version(wanted: bool) -> None:
    if wanted:
        from data import __version__

        typer.echo(f"tunegraph {__version__}")
        raise typer.Exit


@app.callback()
def _settings(
    context: typer.Context,
    workspace: Annotated[
        Path | None,
        typer.Option(help="Workspace directory.", envvar="TUNEGRAPH_WORKSPACE", readable=False),
    ] = None,
    lang: Annotated[
        str | None,
        typer.Option("--lang", help="en or zh; also tunegraph.toml, or LANG.", envvar="TUNEGRAPH_LANG"),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what is being done.")] = False,
    version: Annotated[  # noqa: ARG001  typer runs the callback
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Recommend tuning configurations from a knowledge graph of measured cases."""
    make_harmless()
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if verbose else logging.WARNING,
        format="%(levelname)s %(name)s: %(message)s",
    )
    context.obj = Places.resolve(workspace, os.environ)
    use_language(choose_language(lang, context.obj.user.language, os.environ))
    use_own_settings(context)
