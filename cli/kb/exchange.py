"""``tunegraph kb export`` and ``kb import``: the graph as a file, and cases for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.context import open_for_writing, open_workspace
from kg.errors import InputError


def export(
    context: typer.Context,
    path: Annotated[
        Path,
        typer.Argument(help="Where to; ends in .nq .trig .ttl .nt .jsonld, or .jsonl .csv for cases."),
    ],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="Cases as cases, csv, vllm, sglang.",
        ),
    ] = "",
    operator: Annotated[str, typer.Option("--op", help="Only cases of this operator.")] = "",
    hardware: Annotated[str, typer.Option("--hardware", help="Only cases on this device.")] = "",
    knowledge_only: Annotated[
        bool, typer.Option("--knowledge", help="Only what is known, without problems and batches.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
) -> None:
    """Write the graph as RDF, or cases for another program.

    Some programs take a folder of files.

    Example: tunegraph kb export graph.ttl
    """
    from ingest.exporting import SUFFIXES

    form = form or (SUFFIXES.get(path.suffix, "") if operator or hardware else "")
    if (operator or hardware) and not form:
        raise InputError(
            "--op and --hardware choose cases", hint="give a --format, or a path ending in .jsonl"
        )
    with open_workspace(context) as workspace:
        if form:
            cases = workspace.knowledge.export_cases(
                path, form, operator=operator, hardware=hardware, force=force
            )
            print(f"wrote {cases.rows:,} cases to {cases.files:,} files at {path}", file=sys.stderr)
            for reason, number in (cases.left_out or {}).items():
                print(f"left out {number:,}: {reason}", file=sys.stderr)
            return
        count, what = workspace.knowledge.export(path, knowledge_only=knowledge_only, force=force)
    print(f"wrote {count:,} {what} to {path}", file=sys.stderr)


def import_(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(help="An exported graph: .nq .trig .ttl .nt .jsonld.")],
) -> None:
    """Import knowledge and effects of an exported graph.

    All of it or nothing; for cases, use ingest.

    Example: tunegraph kb import graph.ttl
    """
    with open_for_writing(context) as editor:
        count = editor.import_graph(source)
        batch = editor.batch
    if count:
        print(f"took in {count:,} triples from {source} as batch {batch}", file=sys.stderr)
        print(f"  take them back: tunegraph workspace undo {batch}", file=sys.stderr)
    else:
        print(f"all triples of {source} were there already", file=sys.stderr)
