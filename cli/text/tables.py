"""Tables as lines that fit: constant columns are folded away, long cells wrapped or put below their row."""

from collections.abc import Iterator, Sequence

from cli.text.language import localised
from cli.text.width import broken, columns_of, wrapped

_GAP = 2
_NARROWEST = 16
"""Columns that a wrapped column keeps at least."""

_FOLDED_FROM = 3
"""Rows from which on a column whose cells are all alike is said once."""


def table_lines(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> Iterator[tuple[str, bool]]:
    """The lines of a table, each with whether it is the heading.

    Args:
        columns: Headings.
        rows: Cells.
        width: Columns of the screen.
    """
    kept = list(range(len(columns)))
    if _total(_widths(columns, rows, kept)) > width and len(rows) >= _FOLDED_FROM:
        kept = [place for place in kept if any(row[place] for row in rows)]
        alike = [place for place in kept if columns[place] and len({row[place] for row in rows}) == 1]
        for text in (f"{localised('all:')} {columns[place]} {rows[0][place]}" for place in alike):
            yield from ((line, False) for line in wrapped(text, width))
        kept = [place for place in kept if place not in alike]
    below: list[int] = []
    widths = _fitted(columns, rows, kept, width)
    while widths is None:  # the widest but the first goes below its row, until the others fit
        natural = _widths(columns, rows, kept)
        widest = max(range(1, len(kept)), key=natural.__getitem__)
        below.append(kept.pop(widest))
        widths = _fitted(columns, rows, kept, width)
    if any(columns[place] for place in kept):
        yield from ((line, True) for line in _row([columns[place] for place in kept], widths))
    for row in rows:
        yield from ((line, False) for line in _row([row[place] for place in kept], widths))
        for place in sorted(below):
            if row[place]:
                text = f"    {columns[place]}  {row[place]}" if columns[place] else f"    {row[place]}"
                yield from ((line, False) for part in text.split("\n") for line in wrapped(part, width))


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]], kept: Sequence[int]) -> list[int]:
    return [
        max(
            [
                columns_of(columns[place]),
                *(columns_of(part) for row in rows for part in row[place].split("\n")),
            ]
        )
        for place in kept
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _fitted(
    columns: Sequence[str], rows: Sequence[Sequence[str]], kept: Sequence[int], width: int
) -> list[int] | None:
    """Widths that fit, columns of prose made narrower; None if words would have to be broken."""
    widths = _widths(columns, rows, kept)
    least = [
        max(
            [columns_of(columns[place]), *(columns_of(word) for row in rows for word in row[place].split())],
            default=0,
        )
        for place in kept
    ]
    least = [min(full, max(low, _NARROWEST)) for full, low in zip(widths, least, strict=True)]
    over = _total(widths) - width
    while over > 0:
        slack = [full - low for full, low in zip(widths, least, strict=True)]
        if not any(slack):
            return None if len(kept) > 1 else widths
        widest = max((place for place in range(len(widths)) if slack[place]), key=widths.__getitem__)
        others = [widths[place] for place in range(len(widths)) if slack[place] and place != widest]
        step = max(1, min(over, slack[widest], widths[widest] - max(others, default=0)))
        widths[widest] -= step
        over -= step
    return widths


def _row(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """The lines of one row: each cell wrapped within its column."""
    parts = [
        [line for part in cell.split("\n") for line in broken(part.strip(), size)]
        for cell, size in zip(cells, widths, strict=True)
    ]
    for at in range(max(map(len, parts), default=0)):
        texts = [part[at] if at < len(part) else "" for part in parts]
        padded = [text + " " * (size - columns_of(text)) for text, size in zip(texts, widths, strict=True)]
        yield (" " * _GAP).join(padded).rstrip()
