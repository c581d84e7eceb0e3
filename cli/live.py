"""The page of a search or an A/B test that is written while it runs."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cli.text.language import language, localised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from recommender.report.document import ReportDocument
    from recommender.report.writing import LivePage


class _NoPage:
    """Stands where no page was asked for."""

    def update(self) -> None:
        """Do nothing."""


@contextmanager
def live_page(path: Path | None, document: Callable[[], ReportDocument]) -> Iterator[LivePage | _NoPage]:
    """A page that reads itself again while this runs, and is written once more at the end."""
    if path is None:
        yield _NoPage()
        return
    from recommender.report.writing import LivePage, check_form

    check_form(path)
    page = LivePage(path=path, document=document, language=language())
    page.update()
    print(localised(f"Open {path}: it follows what runs"), file=sys.stderr)
    try:
        yield page
    finally:
        page.close()
