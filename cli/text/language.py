"""The language of this run, and texts in it.

The program speaks English. Another language is a table of templates: a text is looked up as it stands, then
matched with the templates that have places (``{name}``), whose contents are put into the language in turn.
What no template has stays English: names, flags and numbers mean the same everywhere.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

LANGUAGES = ("en", "zh")

_PLACE = re.compile(r"\{(\w+)\}")
_state = {"language": "en"}


def choose_language(option: str | None, configured: str, environment: Mapping[str, str]) -> str:
    """The language of a run: the option, else the configured one, else that of the locale, else English.

    Raises:
        InputError: The option or the configuration names one that there is not.
    """
    for place, stated in (("--lang", option), ("tunegraph.toml", configured)):
        if stated:
            if (short := _short(stated)) not in LANGUAGES:
                raise InputError(f"{place}: no language {stated!r}", hint=f"one of: {', '.join(LANGUAGES)}")
            return short
    locale = next(
        (environment[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environment.get(name)), ""
    )
    return _short(locale) if _short(locale) in LANGUAGES else "en"


def use_language(language: str) -> None:
    """Print in this language from now on."""
    _state["language"] = language


def language() -> str:
    """The language of this run."""
    return _state["language"]


def localised(text: str) -> str:
    """A text in the language of this run; the space around it stays."""
    if _state["language"] == "en" or not text.strip():
        return text
    inner = text.strip()
    at = text.index(inner)
    return text[:at] + _in_chinese(inner) + text[at + len(inner) :]


def _short(name: str) -> str:
    return re.split(r"[_.@-]", name.strip().lower())[0]


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """The templates with places, those with most fixed letters first."""
    from cli.text.chinese import TEMPLATES

    with_places = [english for english in TEMPLATES if _PLACE.search(english)]
    with_places.sort(key=lambda english: -len(_PLACE.sub("", english)))
    return [(_pattern(english), TEMPLATES[english]) for english in with_places]


def _pattern(english: str) -> re.Pattern[str]:
    parts = _PLACE.split(english)  # fixed, name, fixed, name, ...
    pieces = [f"(?P<{part}>.+?)" if place % 2 else re.escape(part) for place, part in enumerate(parts)]
    return re.compile("".join(pieces), re.DOTALL)


def _in_chinese(text: str) -> str:
    from cli.text.chinese import TEMPLATES

    if (exact := TEMPLATES.get(text)) is not None:
        return exact
    for pattern, chinese in _patterns():
        if (match := pattern.fullmatch(text)) is not None:
            return chinese.format(**{name: localised(value) for name, value in match.groupdict().items()})
    return text
