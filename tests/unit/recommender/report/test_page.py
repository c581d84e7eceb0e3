"""The page: complete, safe with hostile names, silent on the network, and the same content back."""

import json
import math
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from data import text
from kg.errors import InputError
from recommender.report.document import ReportDocument, finite
from recommender.report.page import SECTIONS, UNFIT, page, unfit
from recommender.report.words import Words
from tests.unit.recommender.report import contents

VOID = {"meta", "input", "br"}
OPTIONAL = {"td", "th", "tr"}
"""Their end tags may be left out."""


class Tree(HTMLParser):
    """Sees that elements are nested, and gathers what matters."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.scripts = 0
        self.images: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids += [str(value) for name, value in attrs if name == "id"]
        self.loads += [
            str(value) for name, value in attrs if name == "src" or (name == "href" and tag != "a")
        ]
        self.links += [str(value) for name, value in attrs if name == "href"]
        self.handlers += [name for name in found if name.startswith("on")]
        self.scripts += tag == "script"
        if found.get("role") == "img":
            self.images.append(found)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open[-1] != tag and self.open[-1] in OPTIONAL:
            self.open.pop()
        assert self.open, tag
        assert self.open.pop() == tag


def shown(html: str) -> str:
    """The visible part of a page: neither style nor script."""
    return re.sub(r"<style>.*?</style>", "", html.split("<script", maxsplit=1)[0], flags=re.DOTALL)


def parsed(html: str) -> Tree:
    tree = Tree()
    tree.feed(html)
    tree.close()
    assert tree.open == []
    return tree


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_section_is_on_the_page_and_well_formed(language: str) -> None:
    html = page(contents.document(), language=language)
    tree = parsed(html)
    assert {*SECTIONS, "missing", "document"} <= set(tree.ids)
    assert len(tree.ids) == len(set(tree.ids))
    assert tree.loads == []
    assert tree.handlers == []
    assert tree.scripts == 2
    assert len(tree.images) == 5  # roofline, course, front, interval, carbon
    assert all(image["aria-label"] for image in tree.images)
    assert "default-src 'none'" in html
    assert "nan" not in shown(html)


@pytest.mark.parametrize(
    "text_", [contents.HOSTILE, contents.LONG, contents.RIGHT_TO_LEFT, "\x00\x1b[31m", "\ud800"]
)
def test_hostile_names_stay_text(text_: str, tmp_path: Any) -> None:
    document = contents.document(
        answer=contents.answer(title=text_),
        diagnosis=contents.diagnosis(name=text_),
        experiment={**contents.experiment(), "name": text_},
    )
    html = page(document)
    tree = parsed(html)
    assert tree.scripts == 2
    assert tree.handlers == []
    assert "<img" not in html
    assert "\u2028" not in html
    assert "\u202e" not in html
    assert max(map(len, re.findall(r">([^<]+)<", shown(html)))) < 500
    path = tmp_path / "page.html"
    path.write_bytes(html.encode("utf-8", "backslashreplace"))
    again = ReportDocument.read(path)
    assert again.parts[0].content["changes"][0]["title"] == text_


def poisoned(content: Any, text_: str) -> Iterator[Any]:
    """Yield a content once for each text in it, which is another then."""
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for place, item in items:
        changes = [text_] if isinstance(item, str) else ()
        for changed in poisoned(item, text_) if isinstance(item, dict | list | tuple) else changes:
            made = dict(content) if isinstance(content, dict) else list(content)
            made[place] = changed
            yield made


@pytest.mark.parametrize("text_", [contents.HOSTILE, "javascript:alert(1)"])
def test_no_text_in_any_place_of_any_content_is_markup(text_: str) -> None:
    shows = 0
    for kind, make in contents.CONTENTS.items():
        for content in poisoned(make(), text_):
            try:
                html = page(contents.document(kind, **{kind: content}))
            except (InputError, ValueError, KeyError):  # a word of ours, such as a date or a kind
                continue
            tree = parsed(html)
            assert tree.handlers == []
            assert tree.scripts <= 2
            assert not any("javascript" in link for link in tree.links)
            assert "<img" not in html
            assert "\u202e" not in html
            shows += "alert(1)" in html
    assert shows > 50


def test_numbers_that_are_not_finite_are_left_out() -> None:
    content = contents.search()
    content["course"]["points"].append([6, math.nan])
    content["course"]["points"] = [[at, v] for at, v in content["course"]["points"] if not math.isnan(v)]
    content["gain_factor"] = math.inf
    plan = contents.green()
    plan["series"]["g_per_kwh"][3:6] = [math.nan, math.inf, None]
    html = page(contents.document(search=content, green=plan))
    assert "nan" not in shown(html)
    assert "inf" not in shown(html)
    json.loads(json.dumps(finite(content), allow_nan=False))


def one_of_each() -> list[Any]:
    single = contents.search()
    single["course"] |= {
        "evaluations": 1,
        "points": [[1, 1e-3]],
        "best": [[1, 1e-3]],
        "failed": [],
        "over_limits": [],
    }
    single["front_points"] |= {"points": [[1e-3, 10.0]], "front": [0], "configurations_count": 1}
    nothing = contents.search()
    nothing |= {
        "figures": None,
        "best": None,
        "default": None,
        "gain_factor": None,
        "top": [],
        "front_points": None,
    }
    nothing["course"] |= {"points": [], "best": [], "failed": [1, 2, 3]}
    equal = contents.search()
    equal["course"]["points"] = [[at, 1e-3] for at in range(1, 6)]
    equal["front_points"]["points"] = [[1e-3, 10.0]] * 4
    negative = contents.answer()
    negative["changes"][0]["gain"] |= {"expected_factor": 0.8, "low_factor": 0.7, "high_factor": 0.9}
    cell = contents.diagnosis()
    cell["heat"] = {
        **contents.heat(ranks=1),
        "operators": contents.heat(ranks=1)["operators"][:1],
        "rows": [],
    }
    bare = contents.diagnosis()
    bare |= {"causes": [], "heat": None, "ledger": None}
    early = contents.experiment()
    early["treatments"][0] |= {
        "track": [[1, None, None, 1.0]],
        "ratio": None,
        "ratio_low": None,
        "ratio_high": None,
    }
    none = {
        **contents.answer(),
        "start": None,
        "changes": [],
        "abstained": {"reason": "too far", "measure_next": ["a"]},
    }
    clocks = contents.green(start="2026-03-28T22:00:00+01:00")
    return [
        {"search": single}, {"search": nothing}, {"search": equal}, {"answer": negative}, {"diagnosis": cell},
        {"diagnosis": bare}, {"experiment": early}, {"answer": none}, {"green": clocks}, {"green": {"planned": []}},
    ]  # fmt: skip


@pytest.mark.parametrize("content", one_of_each(), ids=lambda item: next(iter(item)))
def test_small_and_empty_content_is_drawn(content: Any) -> None:
    parsed(page(contents.document(**content)))


def test_nothing_to_report_is_refused() -> None:
    with pytest.raises(InputError, match="nothing to report"):
        page(ReportDocument(title="", made="", program="", parts=()))


def test_two_parts_of_a_kind_have_anchors_and_names_of_their_own() -> None:
    document = contents.document("experiment")
    twice = ReportDocument(
        title="t", made="", program="", parts=document.parts + contents.document("experiment").parts
    )
    ids = parsed(page(twice)).ids
    assert "experiment" in ids
    assert "experiment-2" in ids


@pytest.mark.parametrize(
    ("fault", "says"), [(KeyError("rows"), "'rows' is missing"), (ValueError("no date"), "no date")]
)
def test_content_that_cannot_be_shown_says_why(fault: Exception, says: str) -> None:
    assert str(unfit("a.json", fault)) == f"a.json: cannot be shown: {says}"


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def schemes() -> list[dict[str, str]]:
    """Colours of the light and of the dark scheme."""
    found = []
    for block in re.findall(r":root\{(.*?)\}", text("report/report.css"), re.DOTALL)[:2]:
        values = {}
        for name, value in re.findall(r"--([\w]+):([^;}]+)", block):
            short = value.strip()
            if re.fullmatch(r"#[0-9a-f]{3}", short):
                short = "#" + "".join(2 * letter for letter in short[1:])
            values[name] = short
        found.append(values)
    return found


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_is_read_on_its_ground(scheme: int) -> None:
    colours = schemes()[scheme]
    for name in ("ink", "soft", "bad", "good", "focus", *(f"s{at}" for at in range(1, 9))):
        for ground in ("paper", "wash"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)


def _leaves(content: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _leaves(value, (*path, key))
    elif isinstance(content, list) and content:
        yield from _leaves(content[0], (*path, 0))
    else:
        yield path


@pytest.mark.parametrize("kind", sorted(contents.CONTENTS))
def test_nothing_of_a_file_becomes_markup(kind: str) -> None:
    """Each place of a part in turn holds markup: the page shows it as text, or refuses the part."""
    drawn = 0
    for path in _leaves(contents.CONTENTS[kind]()):
        content: Any = contents.CONTENTS[kind]()
        inner = content
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = "<img src=x onerror=alert(1)>"
        try:
            body = SECTIONS[kind][1](content, Words())
        except UNFIT:
            continue
        drawn += 1
        assert "<img" not in body, path
    assert drawn


def test_a_diagnosis_shows_what_to_measure_next() -> None:
    from recommender.report.sections.diagnosis import draw_next

    content, words = contents.diagnosis("A<b>"), Words("en")
    assert "profile rank 2" in str(draw_next(content["next_measurement"], words))
