"""Markup of HTML and SVG as text: what is no markup yet is escaped when it enters."""

from collections.abc import Iterable, Sequence
from html import escape

from kg.hidden_text import harmless

_EMPTY = frozenset({"br", "meta", "input"})
"""Elements of HTML without an end."""

ELLIPSIS = "…"


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def plain(content: object) -> str:
    """Text of data, with hidden characters spelled out."""
    return harmless(str(content))


def markup(content: object) -> Markup:
    """Markup as it is, nothing for None, any other content escaped."""
    if isinstance(content, Markup):
        return content
    return Markup("") if content is None else Markup(escape(plain(content), quote=False))


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Several contents as one."""
    return Markup(between.join(map(markup, parts)))


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element.

    Args:
        name: Of the element.
        children: Its content in order; None is left out.
        attributes: By name, with ``_`` for ``-`` and one at the end ignored; None and False are left out,
            True has no value.
    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        spelled = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(spelled)
        else:
            text = (
                f"{value:g}"
                if isinstance(value, float)
                else escape(plain(value), quote=False).replace('"', "&quot;")
            )
            words.append(f'{spelled}="{text}"')
    head = " ".join(words)
    if name in _EMPTY:
        return Markup(f"<{head}>")
    return Markup(f"<{head}>{joined(children)}</{name}>")


def shorten(text: str, most: int) -> str:
    """A text of at most so many characters, its middle left out."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return text[:head].rstrip() + ELLIPSIS + text[len(text) - (most - head - 1) :].lstrip()


def name(text: object, most: int = 80) -> Markup:
    """A name of somebody else's, which may be long or run from right to left."""
    content = plain(text)
    short = shorten(content, most)
    return tag("bdi", short, title=content[:400] if short != content else None)


def table(
    columns: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    numbers: Sequence[int] = (),
    class_: str = "",
) -> Markup:
    """A table that scrolls by itself where it is too wide.

    Args:
        columns: Headings.
        rows: Cells of each row; the first names it.
        numbers: Places of columns that hold numbers.
        class_: Class of the table; the rows of ``cards`` stand one below the other on a narrow screen.
    """
    is_cards = class_ == "cards"  # its boxes are no table for a browser any more: say what they are

    def cell(kind: str, place: int, content: object, **attributes: object) -> Markup:
        drawn = isinstance(content, Markup) and "<svg" in content
        shown = "n" if place in numbers else "v" if drawn else None
        return tag(kind, content, class_=shown, **attributes)

    def role(name_: str) -> dict[str, object]:
        return {"role": name_} if is_cards else {}

    head = tag(
        "tr",
        *(cell("th", place, text, scope="col", **role("columnheader")) for place, text in enumerate(columns)),
        **role("row"),
    )
    body = [
        tag(
            "tr",
            cell("th", 0, row[0], scope="row", **role("rowheader")),
            *(cell("td", place, content, **role("cell")) for place, content in enumerate(row[1:], 1)),
            **role("row"),
        )
        for row in rows
    ]
    parts = (tag("thead", head, **role("rowgroup")), tag("tbody", *body, **role("rowgroup")))
    return scrolling(tag("table", *parts, class_=class_ or None, **role("table")))


def scrolling(content: Markup) -> Markup:
    """Content in a box that scrolls sideways, by keys too."""
    return tag("div", content, class_="scroll", tabindex="0", role="group")
