"""``tunegraph kb export`` and ``kb import``: the graph as a file or in a store of others."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.context import open_for_writing, open_workspace
from kg.errors import InputError

TokenOption = Annotated[
    Path | None,
    typer.Option("--token-file", help="File with the token that the server asks for.", dir_okay=False),
]


def export(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            metavar="path",
            help="Where to; ends in .nq .trig .ttl .nt .jsonld, or .jsonl .csv .parquet for cases. "
            "Or the address of a SPARQL store.",
        ),
    ],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="Cases as cases, csv, parquet, optuna, vllm, sglang, kernel-tuner.",
        ),
    ] = "",
    operator: Annotated[str, typer.Option("--op", help="Only cases of this operator.")] = "",
    hardware: Annotated[str, typer.Option("--hardware", help="Only cases on this device.")] = "",
    knowledge_only: Annotated[
        bool, typer.Option("--knowledge", help="Only what is known, without problems and batches.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    token_file: TokenOption = None,
) -> None:
    """Write the graph as RDF, or cases for another program.

    Some programs take a folder of files. A store at an address holds the graph
    afterwards and nothing else; its readers see the old graph or the new one.

    Example: tunegraph kb export graph.ttl
    """
    from ingest.exporting import SUFFIXES
    from kg.web import is_address

    if is_address(target):
        if form or operator or hardware:
            raise InputError("a store takes the graph, not cases", hint="leave --format, --op and --hardware")
        with open_workspace(context) as workspace:
            done = workspace.knowledge.publish(
                target, token=server_token(token_file), knowledge_only=knowledge_only, force=force
            )
        print(f"{target} holds {done.triples:,} triples: {done.added:,} came", file=sys.stderr)
        print(f"  and {done.removed:,} went", file=sys.stderr)
        return
    path = Path(target)
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
    source: Annotated[
        str,
        typer.Argument(
            metavar="path",
            help="An exported graph (.nq .trig .ttl .nt .jsonld), or the address of a SPARQL store.",
        ),
    ],
    token_file: TokenOption = None,
) -> None:
    """Import knowledge and effects of an exported graph.

    All of it or nothing; for cases, use ingest.

    Example: tunegraph kb import graph.ttl
    """
    from kg.web import is_address

    with open_for_writing(context) as editor:
        if is_address(source):
            count = editor.import_from(source, token=server_token(token_file))
        else:
            count = editor.import_graph(Path(source))
        batch = editor.batch
    if count:
        print(f"took in {count:,} triples from {source} as batch {batch}", file=sys.stderr)
        print(f"  take them back: tunegraph workspace undo {batch}", file=sys.stderr)
    else:
        print(f"all triples of {source} were there already", file=sys.stderr)


def server_token(file: Path | None) -> str:
    """The token in a file or in TUNEGRAPH_TOKEN; empty where there is none."""
    from recommender.service.access import read_token

    if file is None:
        return os.environ.get("TUNEGRAPH_TOKEN", "")
    return read_token(file).decode("ascii")
