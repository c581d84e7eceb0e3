"""``tunegraph report``: one page that opens anywhere, from whatever there is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.context import open_workspace
from cli.output import aside
from cli.text.language import language
from kg.errors import InputError

if TYPE_CHECKING:
    from recommender.report.document import ReportDocument

HtmlOption = Annotated[
    Path | None, typer.Option("--html", help="Also write the report: .html, .pdf or .json.")
]


def report(
    context: typer.Context,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="Profiles, question files, logs of searches, A/B tests, ids of recommendations, JSON that "
            "commands printed. Without any: what the workspace and this folder hold.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option("-o", "--output", help="File to write: .html, .pdf or .json; repeat it for several."),
    ] = None,
    compare: Annotated[
        Path | None, typer.Option("--compare", help="An earlier profile, beside the profiles named.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="A page or JSON of a report: write it in another form.")
    ] = None,
    title: Annotated[str, typer.Option("--title", help="Title of the page.")] = "",
) -> None:
    """Write answers, diagnoses, searches and A/B tests to one page.

    Example: tunegraph report my-question.yaml -o report.html
    """
    from recommender.report.writing import check_form
    from recommender.workspace.pages import PagesDesk

    outputs = output or [Path("report.html")]
    for path in outputs:
        check_form(path)
    if source is not None:
        if what or compare or title:
            raise InputError("--from reads a whole report: nothing else goes with it", hint="leave WHAT out")
        document = PagesDesk.read(source)
    else:
        with open_workspace(context) as workspace:
            document = workspace.pages.gather(*what or (), before=compare, folder=Path(), title=title)
    write_all(outputs, document)


def write_all(paths: list[Path], document: ReportDocument) -> None:
    """Write a report into files, in the language of the program, and say so."""
    from recommender.report.writing import write_report

    for path in paths:
        write_report(path, document, language=language())
        aside(f"Wrote {path}")
