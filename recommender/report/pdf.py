"""The PDF of a page, by the Chromium, Chrome or Edge of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from kg.errors import MissingDependencyError, WorkspaceError

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
