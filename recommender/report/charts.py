"""Charts as static SVG: a frame with axes and a grid, marks in it, and bars that stand in tables."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from recommender.report.markup import Markup, joined, markup, tag
from recommender.report.scales import Scale, number

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 16, 44
"""Margins around the marks of a chart: labels of the axes stand in them."""

BAR_WIDTH, BAR_HEIGHT = 200, 14
"""Size of a bar in a table: it is stretched to its cell."""

_LETTER = 6.6
"""Width of a letter of labels, on the average; measured on the page's font."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis of a chart.

    Attributes:
        scale: Values to places.
        title: What it shows, with its unit.
        ticks: Values that are labelled; round ones if None.
        label: The label of a tick.
    """

    scale: Scale
    title: object = ""
    ticks: Sequence[float] | None = None
    label: Callable[[float], str] = number

    @property
    def labelled(self) -> list[tuple[float, str]]:
        """Place and label of each tick."""
        values = self.scale.ticks() if self.ticks is None else self.ticks
        return [(self.scale(value), self.label(value)) for value in values]


def frame(x: Axis, y: Axis, height: int = HEIGHT) -> Markup:
    """Grid, ticks and titles of both axes."""
    bottom, parts = height - BOTTOM, []
    for place, label in y.labelled:
        parts.append(tag("path", d=f"M{LEFT} {place:g}H{WIDTH - RIGHT}", class_="g"))
        parts.append(tag("text", label, x=LEFT - 8, y=round(place + 4, 1), class_="e"))
    end = 0.0
    for place, label in x.labelled:
        half = len(label) * _LETTER / 2
        if place - half < end or place + half > WIDTH:
            continue  # would lie on the label before it, or be cut
        end = place + half + _LETTER
        parts.append(tag("path", d=f"M{place:g} {bottom}v5", class_="a"))
        parts.append(tag("text", label, x=place, y=bottom + 18, class_="m"))
    parts.append(tag("path", d=f"M{LEFT} {bottom}H{WIDTH - RIGHT}", class_="a"))
    parts.append(tag("text", x.title, x=(LEFT + WIDTH - RIGHT) / 2, y=height - 6, class_="m q"))
    parts.append(tag("text", y.title, x=LEFT, y=TOP - 4, class_="q"))
    return joined(parts)


def points(places: Iterable[tuple[float, float]], class_: str) -> Markup:
    """Dots as one path: round caps of lines without length."""
    path = "".join(f"M{x:g} {y:g}h0" for x, y in places)
    return tag("path", d=path, class_=f"p {class_}") if path else Markup("")


def crosses(places: Iterable[tuple[float, float]], class_: str, size: float = 3) -> Markup:
    """Crosses as one path."""
    path = "".join(
        f"M{x - size:g} {y - size:g}l{2 * size:g} {2 * size:g}m0 {-2 * size:g}l{-2 * size:g} {2 * size:g}"
        for x, y in places
    )
    return tag("path", d=path, class_=f"l {class_}") if path else Markup("")


def line(places: Sequence[tuple[float, float]], class_: str) -> Markup:
    """A line through places."""
    path = "L".join(f"{x:g} {y:g}" for x, y in places)
    return tag("path", d=f"M{path}", class_=f"l {class_}") if path else Markup("")


def steps(places: Sequence[tuple[float, float]], class_: str, end: float | None = None) -> Markup:
    """A line that stays level until the next place, and from the last one on to ``end``."""
    if not places:
        return Markup("")
    path = f"M{places[0][0]:g} {places[0][1]:g}" + "".join(f"H{x:g}V{y:g}" for x, y in places[1:])
    return tag("path", d=path + ("" if end is None else f"H{end:g}"), class_=f"l {class_}")


def band(low: Sequence[tuple[float, float]], high: Sequence[tuple[float, float]], class_: str) -> Markup:
    """The area between two lines."""
    ring = [*low, *reversed(high)]
    path = "L".join(f"{x:g} {y:g}" for x, y in ring)
    return tag("path", d=f"M{path}Z", class_=f"f {class_}") if len(ring) > 2 else Markup("")


def chart(title: object, description: object, *body: object, height: int = HEIGHT, id_: str = "") -> Markup:
    """A chart with its title and a description for those who do not see it."""
    svg = tag(
        "svg",
        *body,
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        aria_label=f"{_text(title)}. {_text(description)}",
        id=id_ or None,
    )
    caption = tag("figcaption", tag("b", title), " ", tag("span", description, class_="soft"))
    return tag("figure", caption, tag("div", svg, class_="scroll", tabindex="0"))


def _text(content: object) -> str:
    """Words without markup around names."""
    from html import unescape
    from re import sub

    return unescape(sub("<[^>]*>", "", markup(content)))


def key(*entries: tuple[str, object]) -> Markup:
    """The legend of a chart: the class of each mark, and its words."""
    signs = {
        "p": tag("path", d="M7 7h0", class_="p"),
        "x": tag("path", d="M4 4l6 6m0-6l-6 6", class_="l"),
        "l": tag("path", d="M0 7h14", class_="l"),
        "f": tag("path", d="M0 2h14v10H0Z", class_="f"),
        "b": tag("path", d="M0 2h14v10H0Z", class_="b"),
    }
    items = [
        tag(
            "li",
            tag(
                "svg", tag("g", signs[class_[0]], class_=class_[2:]), viewBox="0 0 14 14", aria_hidden="true"
            ),
            words,
        )
        for class_, words in entries
    ]
    return tag("ul", *items, class_="key")


def bar(value: float, most: float, class_: str = "s1", *, start: float = 0.0) -> Markup:
    """A bar for a cell of a table, from ``start`` on, in parts of ``most``."""
    left, wide = (round(BAR_WIDTH * part / most, 1) if most > 0 else 0.0 for part in (start, value))
    shape = tag("rect", x=left, y=1, width=max(wide, 0.8), height=BAR_HEIGHT - 2, class_=f"b {class_}")
    return _bars(shape)


def stacked(parts: Sequence[tuple[float, str]], most: float) -> Markup:
    """Bars one behind the other for a cell of a table, with a gap between, each of its class."""
    shapes, left = [], 0.0
    for value, class_ in parts:
        wide = BAR_WIDTH * value / most if most > 0 else 0.0
        if wide >= 0.2:
            shapes.append(
                tag(
                    "rect",
                    x=round(left, 1),
                    y=1,
                    width=round(max(wide - 0.6, 0.2), 1),
                    height=BAR_HEIGHT - 2,
                    class_=f"b {class_}",
                )
            )
        left += wide
    return _bars(*shapes)


def interval(scale: Scale, low: float, middle: float, high: float, at: float, class_: str = "s1") -> Markup:
    """An interval with its middle for a cell of a table, and a line where nothing changes.

    Args:
        scale: Values to places from 0 to ``BAR_WIDTH``.
        low: Lower end.
        middle: What is expected.
        high: Upper end.
        at: Where nothing changes.
        class_: Of its colour.
    """
    zero, ends = scale(at), (scale(low), scale(high))
    half = BAR_HEIGHT / 2
    return _bars(
        tag("path", d=f"M{zero:g} 0v{BAR_HEIGHT}", class_="z"),
        tag("path", d=f"M{ends[0]:g} {half:g}H{max(ends[1], ends[0] + 1):g}", class_=f"i {class_}"),
        tag(
            "rect", x=round(scale(middle) - 1.5, 1), y=1, width=3, height=BAR_HEIGHT - 2, class_=f"b {class_}"
        ),
    )


def _bars(*shapes: Markup) -> Markup:
    box = f"0 0 {BAR_WIDTH} {BAR_HEIGHT}"
    return tag("svg", *shapes, class_="bar", viewBox=box, preserveAspectRatio="none", aria_hidden="true")
