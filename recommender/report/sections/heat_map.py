"""The map of heat: operators by rank or by unit, each cell with its number, and the rows behind it."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from recommender.report.markup import Markup, joined, name, shorten, table, tag
from recommender.report.scales import number, percent, quantity
from recommender.report.words import Words

_SHADES = 9
_WIDE = 12
"""Columns from which a map is printed small."""
_ODD = 1.25
"""Times the median of its row from which a cell of more than ``_ODD_SHARE`` is marked; a choice."""
_ODD_SHARE = 0.005
_LISTED, _LISTED_OPERATORS = 3, 12
"""Rows of an operator that are listed where no script runs, and of how many operators."""
_MICRO = 1e-6


def draw_heat(heat: Mapping[str, Any], words: Words) -> Markup:
    """Both maps and the rows behind."""
    parts = [tag("h3", words("Operators"))]
    if len(heat["ranks"]) > 1:
        said = words(
            "Share of the step of each rank, in per cent. A cell with an outline takes at least {odd} times "
            "the median of its operator.",
            odd=number(_ODD),
        )
        parts += [tag("p", said, class_="soft"), _ranks(heat, words)]
        if heat.get("ranks_left_out"):
            parts.append(
                tag(
                    "p",
                    words("{n} ranks nearer to the median are not shown.", n=heat["ranks_left_out"]),
                    class_="soft",
                )
            )
    said = words("How busy each unit is while an operator runs, in per cent; an empty cell is not collected.")
    units = [tag("p", said, class_="soft"), _units(heat, words)]
    if len(heat["ranks"]) > 1:
        units = [tag("details", tag("summary", words("Calls, time and units of each operator")), *units)]
    parts += units
    hint = words("Choose a cell to see its longest rows; arrow keys move between cells, Enter opens.")
    parts += [
        tag("p", hint, class_="soft live"),
        tag("div", class_="rows", aria_live="polite"),
        _listed(heat, words),
    ]
    return joined(parts)


def _shade(value: float | None, most: float) -> str:
    """Class of a shade; by the root, so that small shares differ too."""
    if not value or most <= 0:
        return ""
    return f"k{min(_SHADES, max(1, round(_SHADES * (value / most) ** 0.5)))}"


def _cell(value: float | None, most: float, *, odd: bool = False) -> Markup:
    if value is None:
        return Markup("<td>")
    shade = _shade(value, most) + (" odd" if odd else "")
    text = "0" if not value else f"{100 * value:.0f}" if value >= 0.0995 else f"{100 * value:.1f}"
    kinds = shade.split()
    if not kinds:
        return Markup(f"<td>{text}")
    return Markup(f"<td class={kinds[0]}>{text}" if len(kinds) == 1 else f'<td class="{shade}">{text}')


def _ranks(heat: Mapping[str, Any], words: Words) -> Markup:
    operators = heat["operators"]
    most = max((value for item in operators for value in item["by_rank"] if value), default=0.0)
    rows = []
    for item in operators:
        collected = [value for value in item["by_rank"] if value is not None]
        usual = statistics.median(collected) if collected else 0.0
        cells = [
            _cell(value, most, odd=value is not None and value > _ODD_SHARE and value > _ODD * usual > 0)
            for value in item["by_rank"]
        ]
        rows.append((item, cells))
    ranks = [shorten(str(rank), 12) for rank in heat["ranks"]]
    return _map(words("operator by rank"), ranks, rows, words, kind="rank")


def _units(heat: Mapping[str, Any], words: Words) -> Markup:
    collected = [
        at
        for at in range(len(heat["units"]))
        if any(it["by_unit"][at] is not None for it in heat["operators"])
    ]
    rows = []
    for item in heat["operators"]:
        facts = [number(item["n"]), quantity(item["us"] * _MICRO, "s"), percent(item["share"])]
        busy = [_cell(item["by_unit"][at], 1.0) for at in collected]
        rows.append((item, [*(joined([Markup("<td>"), text]) for text in facts), *busy]))
    units = [words.term(heat["units"][at]) for at in collected]
    columns = [words("calls"), words("time"), words("of step"), *units]
    return _map(words("operator by unit"), columns, rows, words, kind="unit")


def _map(
    title: Markup,
    columns: Sequence[object],
    rows: Sequence[tuple[Mapping[str, Any], Sequence[Markup]]],
    words: Words,
    *,
    kind: str,
) -> Markup:
    head = joined(
        [
            tag("th", words("operator"), scope="col"),
            *(tag("th", text, scope="col", class_="n") for text in columns),
        ]
    )
    body = [
        Markup(f'<tr><th scope="row">{name(item["name"], 40)}{joined(cells)}') for item, cells in rows
    ]  # end tags of rows and cells may be left out in HTML: a third of the bytes of a map
    whole = tag(
        "table",
        tag("caption", title, hidden=True),
        tag("thead", tag("tr", head)),
        tag("tbody", *body),
        data_map=kind,
    )
    wide = "heat wide scroll" if len(columns) > _WIDE else "heat scroll"
    return tag("div", whole, class_=wide, tabindex="0", role="group", aria_label=title)


def _listed(heat: Mapping[str, Any], words: Words) -> Markup:
    """The longest rows of each operator, folded: what a reader without scripts opens."""
    texts = heat["texts"]
    by_operator: dict[int, list[list[Any]]] = {}
    ranks = len(heat["ranks"])
    for row in heat["rows"]:
        by_operator.setdefault(row[0] // ranks, []).append(row)
    items = []
    for place, rows in sorted(by_operator.items())[:_LISTED_OPERATORS]:
        longest = sorted(rows, key=lambda row: -(row[4] or 0.0))[:_LISTED]
        cells = [
            (
                name(f"{heat['files'][row[0] % ranks]}:{row[1]}", 70),
                name(texts[row[2]], 40),
                quantity((row[4] or 0.0) * _MICRO, "s"),
                name(texts[row[6]], 50),
            )
            for row in longest
        ]
        columns = (words("row"), words("name"), words("time"), words("input shapes"))
        title = heat["operators"][place]["name"]
        items.append(tag("details", tag("summary", name(title)), table(columns, cells, numbers=(2,))))
    return tag("details", tag("summary", words("The longest rows of the costliest operators")), *items)
