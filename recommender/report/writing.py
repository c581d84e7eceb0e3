"""Files of a report: a page, a PDF or JSON, each written beside its place and then there."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from kg import atomic_files
from kg.errors import InputError, MissingDependencyError, WorkspaceError
from recommender.report.document import ReportDocument
from recommender.report.page import page

FORMS = (".html", ".htm", ".pdf", ".json")


def write_report(path: Path, document: ReportDocument, *, language: str = "en") -> None:
    """Write a report in the form that the name of the file asks for.

    Args:
        path: The file.
        document: What it shows.
        language: Of the fixed words of a page.

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
        write_text(path, page(document, language=language))


def check_form(path: Path) -> None:
    """Refuse a file whose name asks for no form of a report, or whose folder is not there.

    Raises:
        InputError: It does.
    """
    if path.suffix.lower() not in FORMS:
        raise InputError(
            f"{path}: no form of a report ends so", hint="report.html, report.pdf or report.json"
        )
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: no such folder")


def write_text(path: Path, content: str) -> None:
    """Write a file of text; see ``write_bytes``."""
    write_bytes(path, content.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file beside its place, then move it there.

    Raises:
        InputError: It cannot be written there.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder", hint="name the file to write, such as report.html")
    try:
        atomic_files.write_bytes(path, content)
    except OSError as fault:
        raise InputError(
            f"{path}: cannot be written ({fault.strerror or fault})", hint="name another place"
        ) from None


_NAMES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("microsoft-edge", "microsoft-edge-stable", "msedge"),
)
_PLACES = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
_FLAGS = (
    *("--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-extensions", "--no-first-run", "--no-pdf-header-footer"),
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
"""The last one resolves no name, so that nothing is asked of a network."""
_LONGEST_S = 120.0


def browser_program() -> str | None:
    """Path of a browser that can print; None where there is none."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    return found or next((place for place in _PLACES if Path(place).is_file()), None)


def print_pdf(page: str) -> bytes:
    """Print a page.

    Args:
        page: HTML.

    Raises:
        MissingDependencyError: There is no browser to print with.
        WorkspaceError: The browser failed.
    """
    program = browser_program()
    if program is None:
        raise MissingDependencyError(
            "a PDF needs Chromium, Chrome or Edge, and none of them is installed here",
            hint="install one, or write report.html and print it from any browser",
        )
    with tempfile.TemporaryDirectory(prefix="tunegraph-pdf-") as folder:
        place, printed = Path(folder) / "page.html", Path(folder) / "page.pdf"
        place.write_bytes(page.encode("utf-8", "backslashreplace"))
        alone = (
            ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        )  # root has no sandbox
        words = [
            program,
            *_FLAGS,
            *alone,
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={printed}",
            place.as_uri(),
        ]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=_LONGEST_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as fault:
            raise WorkspaceError(
                f"{program} printed no PDF: {fault}", hint="print the page from any browser"
            ) from None
        if not printed.is_file():
            said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise WorkspaceError(
                f"{program} printed no PDF (exit {done.returncode}): {said}",
                hint="print the page from any browser",
            )
        return printed.read_bytes()
