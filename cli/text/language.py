"""The language of this run, and texts in it.

The program speaks English. Another language is a table of templates in ``data/texts/``, read only when it is
spoken: English texts by section, each with its own in that language. A text is looked up as it stands, then
matched with the templates that have places (``{name}``), whose contents are put into the language in turn
(``{quoted}`` stays, as does a place in quotation marks); else the parts of a line that has columns, a number
in front or a list are.
What no template has stays English: names, flags and numbers mean the same everywhere. What the user has named
(:func:`keep`), and a :class:`Name`, stays also where a template has the same word.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache

from cli.text.width import columns_of
from kg.errors import InputError

LANGUAGES = ("en", "zh")

_PLACE = re.compile(r"\{(\w+)\}")
_QUOTED = re.compile(r"'\{(\w+)\}'")
_MARKED = re.compile(r"(.*\S)( +\[[0-9a-f]{12}\])")
"""A name with its id behind it."""
_COLUMNS = re.compile(r"( {2,})")
_HEAD = re.compile(r"^(\d+\. |# |- |\+ |[A-Z]+ \d+ x )(?=\S)")
_NAMED = re.compile(
    r"(?P<name>[^:]+?(?: \([^()]*\))?)(?: \((?P<because>[^()]*(?:\([^()]*\)[^()]*)*)\)|: (?P<rest>.+))",
    re.DOTALL,
)
"""A name, and what is said of it: read before the templates, which may fit it by chance."""
_PATH = re.compile(r"[^\s./]*[./]\S*")
"""A file or a field: what is wrong with it follows."""
LONGEST = 500
"""Letters of a text that is read by templates; ours are shorter."""
_LIST = re.compile(rf"(; )(?![^()]{{0,{LONGEST}}}+\))")
_SIGN = re.compile(r"(?<=[\u4e00-\u9fff）”])([;,:]) |([;,]) (?=[\u4e00-\u9fff])")
"""A sign of English beside Chinese, with the space behind it."""
_FORMS = {
    **dict.fromkeys(("count", "batch", "length", "memory", "place", "line", "number", "time"), r"[\d.,]+"),
    **dict.fromkeys(("share", "chance", "before", "after"), r"-?[\d.]+ ?%"),
    **dict.fromkeys(
        ("items", "rest", "parts", "text", "limits", "rules", "reason", "reasons", "names", "quoted"), ".+"
    ),
    "gain": r"[\d.,]+x.*?|unknown",
    "metric": r"[\w.]+",
    "setting": r"[^();]+?",
    "strategy": r"[^();]+?(?: \([^();]*\))?",
    "because": r"[^()]*(?:\([^()]*\)[^()]*)*",
    **dict.fromkeys(("low", "high"), r"-?[\d.,]+(?: ?[\w/%]+)?"),
    "value": r"[\d.,]+(?: [\w/]+)*",
    **dict.fromkeys(("places", "lines"), r"[\d, ]+"),
    "tier": r"[a-z ]+",
    "id": r"[\w, -]+",
    "asked": r"(?!tunegraph )[\w./-]+",
    "hardware": r"(?!all |an? |each |the )[^;]+?",
}
"""Forms of the places of a template, other than a text without a semicolon."""

_state = {"language": "en"}
_terms: dict[str, str] = {}
_kept: set[str] = set()


class Name(str):
    """An identifier, which is the same in every language."""

    __slots__ = ()


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
    """Print in this language from now on; in English where the encoding of the output has no Chinese."""
    has_letters = "中".encode(getattr(sys.stdout, "encoding", None) or "utf-8", "ignore")
    _state["language"] = language if has_letters else "en"
    _kept.clear()


def use_terms(terms: Mapping[str, str]) -> None:
    """Take the names of the graph's nodes in this language, by their English names and their ids."""
    _terms.update(terms)


def keep(names: Iterable[str]) -> None:
    """Leave these names of the user's own as they stand from now on."""
    _kept.update(names)


def language() -> str:
    """The language of this run."""
    return _state["language"]


def localised(text: str) -> str:
    """A text in the language of this run; the space around it stays."""
    if _state["language"] == "en" or not text.strip() or isinstance(text, Name):
        return text
    before, inner, after = text.partition(text.strip())
    made = _in_chinese(inner)
    if made != inner:
        made = _SIGN.sub(lambda sign: "；，："[";,:".index(sign[0][0])], made)
    return before + made + after


def help_text(text: str) -> str:
    """A text of the program's help in the language of this run, with or without its full stop."""
    if _state["language"] == "en":
        return text
    return _help_texts().get(text.rstrip(" ."), text)


@cache
def _help_texts() -> Mapping[str, str]:
    from data import text

    texts: dict[str, str] = json.loads(text("texts/help.zh.json"))
    return texts


def _short(name: str) -> str:
    return re.split(r"[_.@-]", name.strip().lower())[0]


@cache
def templates() -> Mapping[str, str]:
    """The Chinese of each text, by its English; ``{name}`` stands for what varies."""
    from data import text

    sections: dict[str, dict[str, str]] = json.loads(text("texts/zh.json"))
    return {english: chinese for section in sections.values() for english, chinese in section.items()}


@cache
def _with_places() -> list[tuple[str, str, str]]:
    """The templates with places, those with most fixed letters first, each behind its longest fixed part."""
    pairs = [(english, chinese) for english, chinese in templates().items() if _PLACE.search(english)]
    pairs.sort(key=lambda pair: -len(_PLACE.sub("", pair[0])))
    return [(max(_PLACE.split(english)[::2], key=len), english, chinese) for english, chinese in pairs]


@cache
def _pattern(english: str) -> re.Pattern[str]:
    parts = _PLACE.split(english)  # fixed, name, fixed, name, ...
    pieces = [
        f"(?P<{part}>{_FORMS.get(part, '[^;]+?')})" if place % 2 else re.escape(part)
        for place, part in enumerate(parts)
    ]
    return re.compile("".join(pieces), re.DOTALL)


@cache
def _heads() -> frozenset[str]:
    """Texts before the colon of templates with places."""
    return frozenset(one.partition(": ")[0] for one in templates() if _PLACE.search(one))


def _name(text: str) -> str | None:
    if text in _kept:
        return text
    if sentence := templates().get(f"{text}."):
        return sentence.rstrip("。")
    return templates().get(text) or _terms.get(text)


def _in_chinese(text: str) -> str:
    if (exact := _name(text)) is not None:
        return exact
    if head := re.match(r"# |\d+\. ", text):
        return head[0] + localised(text[head.end() :])
    if (marked := _MARKED.fullmatch(text)) and (known := _name(marked[1])) is not None:
        return known + marked[2]
    if len(text) > LONGEST:
        parts = _LIST.split(text)
        return "".join(map(localised, parts)) if len(parts) > 1 else text
    named = _NAMED.fullmatch(text)
    known = _name(named["name"]) if named else None
    if named and known and named["because"]:
        return f"{known}（{localised(named['because'])}）"
    if named and not named["name"].isascii() and (rest := _name(named["rest"] or "")):
        return f"{localised(named['name'])}：{rest}"
    if (not known or (named and named["name"] in _heads())) and (made := _by_template(text)) is not None:
        return made
    if named and known:
        return f"{known}：{localised(named['rest'])}"
    if named and _PATH.fullmatch(named["name"]) and " " in (rest := named["rest"] or ""):
        return f"{named['name']}{': ' if (made := localised(rest)) == rest else '：'}{made}"
    for split in (_COLUMNS, _HEAD, _LIST, re.compile(r"( \+ )")):
        parts = split.split(text)
        if len(parts) > 1:
            return "".join(_beside(parts, place) for place in range(len(parts)))
    both = [localised(part) for part in text.split(" and ")] if " and " in text else [text]
    return text if any(part.isascii() for part in both) else " 且 ".join(both)


def _by_template(text: str) -> str | None:
    for fixed, english, chinese in _with_places():
        if fixed in text and (match := _pattern(english).fullmatch(text)) is not None:
            verbatim = {"quoted", "source", *_QUOTED.findall(english)}
            held = match.groupdict().items()
            return chinese.format(**{at: what if at in verbatim else localised(what) for at, what in held})
    return None


def _beside(parts: list[str], place: int) -> str:
    """A part in Chinese; the space behind it makes up for the columns that it takes more or less."""
    made = localised(parts[place])
    if place and parts[place].isspace() and len(parts[place]) > 1:
        before = parts[place - 1]
        return " " * max(2, len(parts[place]) + columns_of(before) - columns_of(localised(before)))
    return made
