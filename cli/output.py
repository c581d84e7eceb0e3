"""Printing: tables for people, stable JSON for programs. Results go to stdout alone."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PIPE_WIDTH = 500
"""Columns of a table that goes into a file or a pipe: nothing is folded there."""

SCHEMA_VERSION = 1
"""Of all JSON output; raised when a key changes its meaning or goes away."""


def as_json(content: Mapping[str, object]) -> None:
    """Print a result as one JSON object with ``schema_version``."""
    json.dump({"schema_version": SCHEMA_VERSION, **content}, sys.stdout, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")


def note(text: str) -> None:
    """Something to know beside the result, on stderr."""
    print(f"note: {text}", file=sys.stderr)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "") -> None:
    """Print rows under headings, as wide as the terminal allows."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
    shown = Table(title=title or None, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for position, column in enumerate(columns):
        shown.add_column(column, overflow="fold", no_wrap=position == 0 and len(column) < 3)
    for row in rows:
        shown.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    console.print(shown)


def factor(log_gain: float) -> str:
    """A log gain as a factor: ``1.25x``."""
    import math

    return f"{math.exp(log_gain):.2f}x"


def quantity(value: float, unit: str) -> str:
    """A number with its unit as people write it: ``32 GB``, ``0.5 %``, ``12 ms``."""
    if unit == "1":
        return f"{100 * value:g} %"
    scales = {"B": ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")), "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))}
    for scale, symbol in scales.get(unit, ()):
        if value >= scale:
            return f"{value / scale:.4g} {symbol}"
    return f"{value:.4g} {unit}"
