"""Small parts that several sections share."""

import re
from collections.abc import Iterable, Sequence

from recommender.report.markup import Markup, joined, name, shorten, tag
from recommender.report.words import Words

_SHORT = 48
_ADDRESS = re.compile(r"<?(https?://[^\s<>\"']+)>?")


def facts(entries: Iterable[tuple[object, object, object]]) -> Markup:
    """The few figures that matter most: name, value, and a remark or None."""
    boxes = [
        tag("div", tag("dt", what), tag("dd", value, tag("small", remark) if remark else None))
        for what, value, remark in entries
    ]
    return tag("dl", *boxes, class_="facts")


def notes(texts: Sequence[object], words: Words) -> Markup:
    """Notes beside a result."""
    if not texts:
        return Markup("")
    return tag("ul", *(tag("li", words("Note: {text}", text=text)) for text in texts), class_="soft")


def tier(kind: object, words: Words) -> Markup:
    """Tier of a number: how it is known."""
    return tag("span", words.term(str(kind)), class_="tier") if kind else Markup("")


def source_link(source: object) -> Markup:
    """A source: a link where it has an address."""
    if not source:
        return Markup("")
    text = str(source)
    at = max(text.find("https://"), text.find("http://"))
    if at < 0 or any(sign in text[at:] for sign in " \"'<>"):
        return name(text, _SHORT)
    return _link(text[at:], source_name(text))


def source_name(source: str) -> str:
    """The part of a source by which people know it: its title, else repository and file, or host and page."""
    at = max(source.find("https://"), source.find("http://"))
    if at > 0:
        return source[:at].rstrip(" ,:(<")
    parts = source.partition("//")[2].rstrip("/").split("/") if at == 0 else [source]
    host, path = parts[0].removeprefix("www."), parts[1:]
    if host == "github.com" and len(path) > 2:
        return f"{path[0]}/{path[1]}: {'/'.join(path[-2:]) if path[2] in {'pull', 'issues'} else path[-1]}"
    return f"{host}: {path[-1]}" if path else host


def linked(text: object) -> Markup:
    """A line of text whose addresses are links."""
    parts = _ADDRESS.split(str(text))
    return joined([_link(part, source_name(part)) if at % 2 else part for at, part in enumerate(parts)])


def _link(address: str, shown: str) -> Markup:
    text = shorten(shown, _SHORT)
    return tag("a", tag("bdi", text), href=address, title=address, rel="noreferrer noopener")
