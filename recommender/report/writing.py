"""Files of a report: a page, a PDF or JSON, each written beside its place and then there."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.errors import InputError
from recommender.report.charts import standalone
from recommender.report.page import page
from recommender.report.pdf import print_pdf
from recommender.report.place import write_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from recommender.report.document import ReportDocument
    from recommender.report.markup import Markup

FORMS = (".html", ".htm", ".pdf", ".json")


def write_report(
    path: Path, document: ReportDocument, *, language: str = "en", refreshes: bool = False
) -> None:
    """Write a report in the form that the name of the file asks for.

    Args:
        path: The file.
        document: What it shows.
        language: Of the fixed words of a page.
        refreshes: Whether a page reads itself again while it is open.

    Raises:
        InputError: No such form, nothing to show, or the place cannot be written to.
        MissingDependencyError: A PDF, and no browser prints here.
        WorkspaceError: The browser failed.
    """
    form = path.suffix.lower()
    check_form(path)
    if form == ".json":
        write_text(path, json.dumps(document.to_json(), ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    elif form == ".pdf":
        write_bytes(path, print_pdf(page(document, language=language)))
    else:
        write_text(path, page(document, language=language, refreshes=refreshes))


def check_form(path: Path) -> None:
    """Refuse a file whose name asks for no form of a report.

    Raises:
        InputError: It does.
    """
    if path.suffix.lower() not in FORMS:
        raise InputError(
            f"{path}: no form of a report ends so", hint="report.html, report.pdf or report.json"
        )


@dataclass(slots=True, kw_only=True)
class LivePage:
    """A page of what still runs, written again now and then.

    Attributes:
        path: The file.
        document: Makes the report of the moment.
        language: Of the fixed words.
        clock: Seconds by a clock that does not jump.
    """

    path: Path
    document: Callable[[], ReportDocument]
    language: str = "en"
    clock: Callable[[], float] = time.monotonic
    _next_s: float = float("-inf")

    def update(self) -> None:
        """Write the page if the last one is old enough: what it costs stays a twentieth of the time."""
        began = self.clock()
        if began < self._next_s:
            return
        self._write(refreshes=True)
        ended = self.clock()
        self._next_s = ended + max(LEAST_PAUSE_S, PAUSE * (ended - began))

    def close(self) -> None:
        """Write it for the last time: it reads itself no more."""
        self._write(refreshes=False)

    def _write(self, *, refreshes: bool) -> None:
        write_report(self.path, self.document(), language=self.language, refreshes=refreshes)


LEAST_PAUSE_S = 2.0
"""Between two pages of what still runs; a choice."""
PAUSE = 20.0
"""Times the cost of a page until the next one; a choice."""


def write_text(path: Path, content: str) -> None:
    """Write a file of text; see ``write_bytes``."""
    write_bytes(path, content.encode("utf-8", "backslashreplace"))


def write_figures(figures: Mapping[Path, Markup | None]) -> tuple[Path, ...]:
    """Write figures as SVG files of their own, which follow the reader's light or dark scheme.

    Args:
        figures: Each with the file to write; None for one that there is not.

    Raises:
        InputError: A file cannot be written.
    """
    drawn = {path: figure for path, figure in figures.items() if figure is not None}
    for path, figure in drawn.items():
        write_bytes(path, standalone(figure).encode())
    return tuple(drawn)
