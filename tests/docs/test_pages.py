"""Pages of docs/ are short, stand in the index under one of four headings, and are where the code says."""

import re
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

DOCS = ROOT / "docs"
MOST_WORDS = 1200
FOLDERS = ("benchmarks", "cli", "data", "embeddings", "ingest", "kg", "recommender", "tools", "tunegraph")
SUFFIXES = {".py", ".ttl", ".yaml"}
ELSEWHERE = {
    "parallelisms.md",
    "performance-summary.md",
    "performance-summary-archive.md",
}  # pages of other repositories

_PATH = re.compile(
    r"(?<![\w/.])((?:tools|benchmarks|tests|data|examples)(?:/[\w-]+)+(?:\.[a-z]+)?)(?![\w/*{-])"
)
_MODULE = re.compile(r"python -m ((?:tools|benchmarks|tests)(?:\.\w+)+)")
_MENTION = re.compile(r"(?<![\w/.])docs/([\w-]+\.md)")


@pytest.mark.parametrize("name", sorted(page.name for page in DOCS.glob("*.md")))
def test_a_page_takes_little_time(name: str) -> None:
    assert len((DOCS / name).read_text(encoding="utf-8").split()) <= MOST_WORDS


def test_the_index_has_four_headings_and_each_page_once() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", index, flags=re.MULTILINE) == [
        "Tutorials",
        "How-to",
        "Reference",
        "Explanation",
    ]
    lines = [line for line in index.splitlines() if line.startswith("* ")]
    pages = [name for line in lines for name in re.findall(r"\]\(([\w-]+\.md)\)", line)]
    assert sorted(pages) == sorted(page.name for page in DOCS.glob("*.md") if page.name != "index.md")
    assert all(len(re.findall(r"\]\(", line)) == 1 for line in lines)


def test_pages_that_the_code_names_exist() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    dead = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in files
        for name in _MENTION.findall(path.read_text(encoding="utf-8"))
        if name not in ELSEWHERE and not (DOCS / name).exists()
    }
    assert dead == set()
    assert len(files) > 500


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_files_and_modules_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    paths = [name for name in _PATH.findall(text) if name.islower()]  # capitals stand for a name
    places = [*paths, *(name.replace(".", "/") for name in _MODULE.findall(text))]
    assert [
        name for name in places if not (ROOT / name).exists() and not (ROOT / f"{name}.py").exists()
    ] == []
