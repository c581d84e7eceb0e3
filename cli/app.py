"""The commands of ``tunegraph``, assembled."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.late import LateTyper
from cli.output import make_harmless
from cli.text.language import choose_language, use_language
from tunegraph.packages import __version__
from tunegraph.places import Places

app = LateTyper(
    name="tunegraph",
    help="Recommend tuning configurations from a knowledge graph of measured cases.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add("init", "cli.commands.init:init")
app.add("recommend", "cli.commands.recommend:recommend")
app.add("explain", "cli.commands.explain:explain")
app.add("diagnose", "cli.commands.diagnose:diagnose")
app.add("similar", "cli.commands.recommend:similar")
app.add("ingest", "cli.commands.ingest:ingest")
app.add("estimate", "cli.commands.estimate:estimate")
app.add("predict", "cli.commands.predict:predict")
app.add("report", "cli.commands.report:report")
app.add("sensitivity", "cli.commands.sensitivity:sensitivity")
app.add("calibrate", "cli.commands.calibrate:calibrate")
app.add("evolve", "cli.commands.evolve:evolve")
app.add("doctor", "cli.commands.doctor:doctor")
app.add("serve", "cli.service.serve:serve")
app.add("mcp", "cli.service.mcp:mcp")
app.add("kb", "cli.commands.kb:app")
app.add("search", "cli.search.commands:app")
app.add("ab", "cli.ab.commands:app")
app.add("green", "cli.green.commands:app")


def _version(wanted: bool) -> None:
    if wanted:
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
