"""The fixed words of a report in the language of its reader."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from data import text
from kg.errors import InputError
from recommender.report.markup import Markup, markup

LANGUAGES = ("en", "zh")
_FILE = "report/words-{}.json"


@cache
def _shipped(language: str) -> Mapping[str, str]:
    found: Mapping[str, str] = json.loads(text(_FILE.format(language)))
    return found


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language; English words are the keys.

    Attributes:
        language: One of ``LANGUAGES``.
        missing: English words that have no translation, as far as they were asked for.
    """

    language: str = "en"
    missing: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Refuse a language without words.

        Raises:
            InputError: It is none of ``LANGUAGES``.
        """
        if self.language not in LANGUAGES:
            raise InputError(f"--lang {self.language}: no such language", hint=" or ".join(LANGUAGES))

    def __call__(self, english: str, **values: object) -> Markup:
        """Words with values in the places of their names; the values are escaped."""
        spoken = english
        if self.language != "en":
            found = _shipped(self.language).get(english)
            if found is None:
                self.missing.add(english)
            spoken = found or english
        return Markup(markup(spoken).format(**{name: markup(value) for name, value in values.items()}))

    def term(self, english: str) -> Markup:
        """A term of a small list, such as a tier; as it is where nobody translated it."""
        spoken = english.replace("_", " ")
        return markup(spoken if self.language == "en" else _shipped(self.language).get(spoken, spoken))
