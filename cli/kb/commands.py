"""``tunegraph kb``: the knowledge base itself: what is in it, is it sound, in and out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.context import open_for_writing, open_workspace
from cli.kb.backup import backup, restore
from cli.kb.base import init, push, rebase
from cli.kb.diff import diff
from cli.kb.listing import list_
from cli.kb.pull import pull
from cli.late import LateTyper
from cli.options import JsonOption, finite
from cli.output import say
from cli.values import pairs
from kg.errors import InputError

app = LateTyper(
    name="kb",
    help="See, check, extend and share the knowledge base.",
    add_completion=False,
)

app.command("list")(list_)
app.command("backup")(backup)
app.command("restore")(restore)
app.command("pull")(pull)
app.command("diff")(diff)
app.command("init")(init)
app.command("rebase")(rebase)
app.command("push")(push)

DEADLINE_S = 30.0
SHOWN_CONFLICTS = 10


@app.command()
def stats(context: typer.Context, as_json: JsonOption = False) -> None:
    """Count what the workspace holds.

    Example: tunegraph kb stats
    """
    from cli import output

    with open_workspace(context) as workspace:
        counts = workspace.stats()
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
        violations = workspace.validate()
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
        typer.Option(
            "--deadline", min=0.1, max=3600, callback=finite, help="Seconds before a query is stopped."
        ),
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
                for item in workspace.catalogue()
            ]
            columns: tuple[str, ...] = ("query", "takes", "answers")
        else:
            given = {name: str(value) for name, value in pairs("--with", parameters, as_text=True).items()}
            found = workspace.query(text, given, deadline_s=deadline_s)
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
def export(
    context: typer.Context,
    path: Annotated[
        Path,
        typer.Argument(
            help="Where to; ends in .nq .trig .ttl .nt .jsonld, or .jsonl .csv .parquet for cases."
        ),
    ],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="Cases as cases, csv, parquet, optuna, vllm, sglang, kernel-tuner, kernel-tuner-cache.",
        ),
    ] = "",
    operator: Annotated[str, typer.Option("--op", help="Only cases of this operator.")] = "",
    hardware: Annotated[str, typer.Option("--hardware", help="Only cases on this device.")] = "",
    knowledge_only: Annotated[
        bool, typer.Option("--knowledge", help="Only what is known, without problems and batches.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
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
            done = workspace.export_cases(path, form, operator=operator, hardware=hardware, force=force)
            print(f"wrote {done.rows:,} cases to {done.files:,} files at {path}", file=sys.stderr)
            for reason, number in (done.left_out or {}).items():
                print(f"left out {number:,}: {reason}", file=sys.stderr)
            return
        count, what = workspace.export(path, knowledge_only=knowledge_only, force=force)
    print(f"wrote {count:,} {what} to {path}", file=sys.stderr)


@app.command()
def merge(
    context: typer.Context,
    other: Annotated[Path, typer.Argument(help="Another workspace, or a backup of one; it is only read.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be added; write nothing.")
    ] = False,
    label: Annotated[
        str, typer.Option("--label", help="Its name in the provenance; by default its directory's.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Join another workspace: cases, knowledge and effects.

    Where the two differ, ours stays, and the difference is listed.

    Example: tunegraph kb merge other-workspace --dry-run
    """
    from cli import output

    with open_workspace(context) as workspace:
        merged = workspace.merge(other, label=label, dry_run=dry_run)
    if as_json:
        output.as_json(merged.to_json())
        return
    for item in merged.conflicts[:SHOWN_CONFLICTS]:
        print(f"conflict: {item.about}: ours {item.ours}; theirs {item.theirs}", file=sys.stderr)
    if merged.conflict_count > SHOWN_CONFLICTS:
        print(f"conflict: ... {merged.conflict_count} in all; --json lists a hundred", file=sys.stderr)
    added, what = merged.added, "would come" if dry_run else "came"
    say(
        f"{added.rows:,} rows, {added.problems:,} problems, {len(merged.knowledge):,} described things and "
        f"{merged.effects:,} effects without cases {what} from {merged.label}"
    )
    print(f"{added.repeated:,} rows were known", file=sys.stderr)


@app.command()
def coverage(
    context: typer.Context,
    most: Annotated[int, typer.Option("--most", min=1, help="How many suggestions.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Show thin evidence, duplicates, and what to measure next.

    Example: tunegraph kb coverage
    """
    from cli import output

    with open_workspace(context) as workspace:
        found = workspace.coverage(most=most)
    if as_json:
        output.as_json(found.to_json())
        return
    output.table(
        (
            "kind",
            "operator",
            "hardware",
            "problems",
            "rows",
            "measured",
            "compared",
            "devices",
            "else nearest",
        ),
        (
            (
                item.workload,
                item.operator,
                item.family,
                f"{item.problems:,}",
                f"{item.rows:,}",
                f"{item.measured_share:.0%}",
                f"{item.compared:,}",
                len(item.devices),
                item.nearest_else.replace("_", " "),
            )
            for item in found.areas
        ),
    )
    for text in found.repeats:
        output.note(text)
    say("\nWhat to measure next:")
    for place, text in enumerate(found.suggestions, 1):
        say(f"{place}. {text}")


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
        found = workspace.lineage.effects(strategy)
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
        found = workspace.lineage.versions()
    if as_json:
        output.as_json({"versions": [item.to_json() for item in found]})
        return
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


@app.command("import")
def import_(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="An exported graph (.nq .trig .ttl .nt .jsonld).")],
) -> None:
    """Import knowledge and effects of an exported graph.

    All of it or nothing; for cases, use ingest.

    Example: tunegraph kb import graph.ttl
    """
    with open_for_writing(context) as editor:
        count, batch = editor.import_graph(path), editor.batch
    if count:
        print(f"took in {count:,} triples from {path} as batch {batch}", file=sys.stderr)
        print(f"  take them back: tunegraph kb undo {batch}", file=sys.stderr)
    else:
        print(f"all triples of {path} were there already", file=sys.stderr)


@app.command()
def undo(
    context: typer.Context,
    batch: Annotated[int, typer.Argument(help="Number of the batch of an import.")],
) -> None:
    """Undo one import.

    Example: tunegraph kb undo 3
    """
    with open_for_writing(context) as editor:
        count = editor.undo(batch)
    print(f"took back {count:,} triples", file=sys.stderr)
