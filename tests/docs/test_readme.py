"""The README is short, its Chinese twin keeps step, and its table's commands run."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import ROOT, blocks, table_commands

README, CHINESE = (ROOT / "README.md", ROOT / "README.zh.md")
MOST_WORDS = 700


def headings(text: str) -> list[int]:
    """The levels of the headings, in order."""
    plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [len(mark) for mark in re.findall(r"^(#+) ", plain, flags=re.MULTILINE)]


def written(page: Any) -> list[str]:
    return [command.text for command in table_commands(page)]


def test_the_readme_takes_little_time() -> None:
    assert len(README.read_text(encoding="utf-8").split()) < MOST_WORDS


def test_both_languages_have_the_same_headings_commands_and_blocks() -> None:
    english, chinese = (page.read_text(encoding="utf-8") for page in (README, CHINESE))
    assert headings(english) == headings(chinese)
    assert written(README) == written(CHINESE)
    assert len(written(README)) >= 10
    ours, theirs = ([block.text for block in blocks(page)] for page in (README, CHINESE))
    assert ours == theirs


IN_ENGLISH = {" --lang zh": "", "千问3-32B": "qwen3-32b", "昇腾910B3": "910B3", "推理": "serving"}


def lines_to_type(page: Path) -> list[str]:
    """Commands of a page's blocks, without their comments and in English."""
    text = "\n".join(block.text for block in blocks(page)).replace("\\\n", " ")
    for chinese, english in IN_ENGLISH.items():
        text = text.replace(chinese, english)
    lines = (" ".join(line.removeprefix("$ ").partition(" #")[0].split()) for line in text.splitlines())
    return [line for line in lines if line.startswith("tunegraph ")]


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*-zh.md")), ids=lambda page: page.name)
def test_a_chinese_page_has_the_commands_of_its_english_one(page: Path) -> None:
    english = page.with_name(page.name.replace("-zh", ""))
    assert lines_to_type(page) == lines_to_type(english) != []
    text = page.read_text(encoding="utf-8")
    assert english.name in text
    assert sum("\u4e00" <= letter <= "\u9fff" for letter in text) > 400


def test_links_are_the_same_in_both_languages() -> None:
    def links(text: str) -> set[str]:
        return {
            link.replace("-zh.md", ".md")
            for link in re.findall(r"\]\(([^)]+)\)", text)
            if "README" not in link and "svg" not in link
        }

    english, chinese = (links(page.read_text(encoding="utf-8")) for page in (README, CHINESE))
    assert english == chinese


@pytest.mark.parametrize(
    "page", sorted([README, CHINESE, ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
)
def test_every_link_between_pages_leads_somewhere(page: Any) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        place, _, part = link.partition("#")
        if ":" in place:
            continue
        target = (page.parent / place) if place else page
        if not target.exists() or (part and part not in anchors(target.read_text(encoding="utf-8"))):
            dead.append(link)
    assert dead == []


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
