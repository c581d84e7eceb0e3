"""The page of a report: one file with style, script and content inside, that asks nothing of a network."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from data import text
from kg.errors import InputError
from recommender.report.document import ReportDocument, ReportPart, embedded
from recommender.report.markup import Markup, joined, name, tag
from recommender.report.sections import (
    answer,
    diagnosis,
    estimate,
    experiment,
    green,
    prediction,
    search,
)
from recommender.report.words import Words

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'"
)


SECTIONS: Mapping[str, tuple[str, Callable[[Mapping[str, Any], Words], Markup]]] = {
    "answer": (answer.TITLE, answer.draw),
    "prediction": (prediction.TITLE, prediction.draw),
    "diagnosis": (diagnosis.TITLE, diagnosis.draw),
    "estimate": (estimate.TITLE, estimate.draw),
    "search": (search.TITLE, search.draw),
    "experiment": (experiment.TITLE, experiment.draw),
    "green": (green.TITLE, green.draw),
}
"""Kinds of parts in the order of a page: title, and what draws them."""


def page(document: ReportDocument, *, language: str = "en") -> str:
    """A report as HTML.

    Args:
        document: What it shows.
        language: Of its fixed words.

    Raises:
        InputError: There is nothing to show, or no such language.
    """
    if not document.parts:
        raise InputError(
            "nothing to report", hint="name a profile, the log of a search, an A/B test or a JSON answer"
        )
    words = Words(language)
    drawn = [_drawn(document, place, words) for place in range(len(document.parts))]
    if document.not_collected:
        items = [tag("li", tag("b", what), ": ", how) for what, how in document.not_collected]
        drawn.append(("missing", words("Not collected"), tag("ul", *items), -1))
    links = [tag("li", tag("a", title, href=f"#{anchor}")) for anchor, title, _, _ in drawn]
    sections = [
        tag("section", tag("h2", title), body, id=anchor, data_part=at if at >= 0 else None)
        for anchor, title, body, at in drawn
    ]
    said = words("Made {moment} by {program}.", moment=tag("time", document.made), program=document.program)
    top = tag(
        "header",
        tag("h1", name(document.title, 120)),
        tag("p", said, class_="soft"),
        tag("nav", tag("ul", *links), aria_label=words("sections")),
    )
    foot = words(
        "This page is one file and needs no network. It holds its content: {command} gives it back as JSON.",
        command=tag("code", "tunegraph report --from PAGE -o report.json"),
    )
    head = joined(
        [
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width,initial-scale=1"),
            tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", document.title),
            tag("style", Markup(text("report/report.css"))),
        ]
    )
    body = joined(
        [
            top,
            tag("main", *sections),
            tag("footer", foot),
            tag("script", Markup(embedded(document.to_json())), type="application/gzip", id="document"),
            tag("script", Markup(text("report/report.js"))),
        ]
    )
    spoken = {"en": "en", "zh": "zh-Hans"}[language]
    return f'<!doctype html>\n<html lang="{spoken}"><head>{head}</head><body>{body}</body></html>\n'


UNFIT = (KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError)
"""Errors raised by content that another program wrote."""


def unfit(where: str, fault: Exception) -> InputError:
    """The error for content that cannot be shown."""
    said = f"{fault} is missing" if isinstance(fault, KeyError) else str(fault)
    return InputError(
        f"{where}: cannot be shown: {said}", hint="write it again with this program; see docs/report.md"
    )


def check_parts(parts: Iterable[ReportPart], where: str) -> None:
    """Refuse parts from a file that no section can draw.

    Raises:
        InputError: One of them lacks something, or has it in another form.
    """
    for part in parts:
        if part.kind not in SECTIONS:
            raise InputError(
                f"{where}: no section shows {part.kind}", hint="read it with the program that wrote it"
            )
        try:
            SECTIONS[part.kind][1](part.content, Words())
        except UNFIT as fault:
            raise unfit(where, fault) from None


def _drawn(document: ReportDocument, place: int, words: Words) -> tuple[str, Markup, Markup, int]:
    """Anchor, title, body and place of the section of one part."""
    part = document.parts[place]
    alike = [at for at, other in enumerate(document.parts) if other.kind == part.kind]
    number = alike.index(place) + 1
    anchor = part.kind if number == 1 else f"{part.kind}-{number}"
    heading, draw = SECTIONS[part.kind]
    title = words(heading)
    if len(alike) > 1:
        title = joined([title, ": ", name(part.source, 60)])
    return anchor, title, draw(part.content, words), place
