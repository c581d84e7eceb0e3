"""The commands of ``tunegraph``, assembled."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.ab import commands as ab
from cli.commands import kb
from cli.commands.calibrate import calibrate
from cli.commands.diagnose import diagnose
from cli.commands.doctor import doctor
from cli.commands.estimate import estimate
from cli.commands.evolve import evolve
from cli.commands.explain import explain
from cli.commands.ingest import ingest
from cli.commands.predict import predict
from cli.commands.recommend import recommend, similar
from cli.commands.sensitivity import sensitivity
from cli.output import make_harmless
from cli.search import commands as search
from tunegraph.packages import __version__
from tunegraph.places import Places

app = typer.Typer(
    name="tunegraph",
    help="Recommend tuning configurations from a knowledge graph of measured cases.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(recommend)
app.command()(explain)
app.command()(diagnose)
app.command()(similar)
app.command()(ingest)
app.add_typer(kb.app, name="kb")
app.command()(estimate)
app.command()(predict)
app.command()(sensitivity)
app.add_typer(search.app, name="search")
app.add_typer(ab.app, name="ab")
app.command()(calibrate)
app.command()(evolve)
app.command()(doctor)


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
