"""``tunegraph kb``: the knowledge base itself: what is in it, is it sound, in and out."""

from pathlib import Path
from typing import Annotated

import typer

from cli.context import open_for_writing, open_workspace
from cli.late import LateTyper
from cli.options import JsonOption
from cli.output import aside, say
from cli.values import pairs
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
            aside(f"wrote {cases.rows:,} cases to {cases.files:,} files at {path}")
            for reason, number in (cases.left_out or {}).items():
                aside(f"left out {number:,}: {reason}")
            return
        count, what = workspace.knowledge.export(path, knowledge_only=knowledge_only, force=force)
    aside(f"wrote {count:,} {what} to {path}")


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
        aside(f"took in {count:,} triples from {source} as batch {batch}")
        aside(f"  take them back: tunegraph workspace undo {batch}")
    else:
        aside(f"all triples of {source} were there already")


app = LateTyper(
    name="kb",
    help="See, check and extend the knowledge base.",
    add_completion=False,
)

app.add("list", "cli.kb.listing:list_")
app.add("pull", "cli.kb.pull:pull")
app.add("diff", "cli.kb.diff:diff")
app.command("export")(export)
app.command("import")(import_)

DEADLINE_S = 30.0


@app.command()
def stats(context: typer.Context, as_json: JsonOption = False) -> None:
    """Count what the workspace holds.

    Example: tunegraph kb stats
    """
    from cli import output

    with open_workspace(context) as workspace:
        counts = workspace.knowledge.stats()
    if as_json:
        output.as_json(counts)
        return
    for section, content in counts.items():
        if isinstance(content, dict):
            output.table(
                (section.replace("_", " "), "count"),
                ((name.replace("_", " "), f"{number:,}") for name, number in content.items()),
            )
        else:
            say(f"{section.replace('_', ' ')}: {content}")
        say()


@app.command()
def validate(context: typer.Context, as_json: JsonOption = False) -> None:
    """Check the knowledge against its SHACL shapes.

    Circles in the graph of causes are found too.

    Example: tunegraph kb validate
    """
    from cli import output

    with open_workspace(context) as workspace:
        violations = workspace.knowledge.validate()
    if as_json:
        output.as_json({"conforms": not violations, "violations": [str(fault) for fault in violations]})
    elif violations:
        for fault in violations:
            say(str(fault))
    else:
        say("the knowledge conforms to its shapes")
    if violations:
        raise typer.Exit(1)


@app.command()
def query(
    context: typer.Context,
    text: Annotated[
        str, typer.Argument(help="Name of a catalogue query, or SPARQL (SELECT, ASK, CONSTRUCT).")
    ] = "",
    parameters: Annotated[
        list[str] | None, typer.Option("--with", help="A parameter of a catalogue query, as name=value.")
    ] = None,
    deadline_s: Annotated[
        float,
        typer.Option("--deadline", min=0.1, max=3600, help="Seconds before a query is stopped."),
    ] = DEADLINE_S,
    as_json: JsonOption = False,
) -> None:
    """Ask the graph, by the name of a query or in SPARQL.

    Without an argument, list the catalogue of queries.

    Example: tunegraph kb query hardware-facts --with hardware=ascend-910b3
    """
    from cli import output

    with open_workspace(context) as workspace:
        rows: list[tuple[str | None, ...]]
        if not text:
            rows = [
                (item.name, ", ".join(p.name for p in item.parameters), item.answers)
                for item in workspace.knowledge.catalogue()
            ]
            columns: tuple[str, ...] = ("query", "takes", "answers")
        else:
            given = {name: str(value) for name, value in pairs("--with", parameters, as_text=True).items()}
            found = workspace.knowledge.query(text, given, deadline_s=deadline_s)
            columns, rows = found.columns, list(found.rows)
    if as_json:
        output.as_json({"columns": list(columns), "rows": [list(row) for row in rows]})
    else:
        output.table(columns, rows)


@app.command()
def add(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(help="hardware, model or strategy.")],
    path: Annotated[Path, typer.Argument(help="A file in the form of docs/knowledge-format.md.")],
    as_json: JsonOption = False,
) -> None:
    """Add your own hardware, models or strategies.

    All of a file is added, or nothing.

    Example: tunegraph kb add hardware my-chip.yaml
    """
    from cli import output

    with open_for_writing(context) as editor:
        nouns = editor.add_file(kind, path)
    added = [{"class": type(noun).__name__, "id": noun.id} for noun in nouns]
    if as_json:
        output.as_json({"added": added})
    else:
        say(f"added {', '.join(item['id'] for item in added)}")


@app.command()
def effects(
    context: typer.Context,
    strategy: Annotated[str, typer.Option("--strategy", help="Only effects of this strategy.")] = "",
    as_json: JsonOption = False,
) -> None:
    """List what strategies gained, and where.

    With n, mean, what stands after a drift, and the newest evidence.

    Example: tunegraph kb effects --strategy nz-weights
    """
    from cli import output

    with open_workspace(context) as workspace:
        found = workspace.knowledge.lineage.effects(strategy)
    if as_json:
        output.as_json({"effects": [item.to_json() for item in found]})
        return
    output.table(
        (
            "strategy",
            "hardware",
            "family",
            "metric",
            "kind",
            "trust",
            "n",
            "mean",
            "here again",
            "last",
            "drift",
            "against",
            "at",
        ),
        (
            (
                item.effect.strategy,
                item.effect.context.hardware,
                item.effect.context.family,
                item.effect.metric,
                item.effect.kind,
                item.effect.trust,
                item.effect.n,
                "" if item.effect.mean is None else output.factor(item.effect.mean),
                "" if item.gain is None else item.gain_text,
                "" if item.effect.last_evidence is None else f"{item.effect.last_evidence:%Y-%m-%d}",
                item.drift,
                item.effect.context.baseline_text,
                item.effect.context.facts_text,
            )
            for item in found
        ),
    )


@app.command()
def versions(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the saved versions of the knowledge.

    Oldest first, with what changed and why.

    Example: tunegraph kb versions
    """
    from cli import output

    with open_workspace(context) as workspace:
        found = workspace.knowledge.lineage.versions()
    if as_json:
        output.as_json({"versions": [item.to_json() for item in found]})
        return
    if not found:
        output.note("no version yet: tunegraph evolve saves the first")
    for item in found:
        say(f"{item.name}  {item.time[:19]}  batch {item.batch}")
        for line in item.changelog:
            say(f"  {line}")


@app.command()
def revert(
    context: typer.Context,
    version: Annotated[str, typer.Argument(help="Name of the version to go back to.")],
    as_json: JsonOption = False,
) -> None:
    """Go back to an older version; measurements stay.

    Example: tunegraph kb revert NAME
    """
    from datetime import UTC, datetime

    from cli import output

    with open_for_writing(context) as editor:
        saved = editor.revert(datetime.now(UTC), version)
    if as_json:
        output.as_json(saved.to_json())
    else:
        say(f"went back to {version}; saved as {saved.name}")
