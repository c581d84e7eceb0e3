from pathlib import Path

import pytest

from ingest.corpora.corpus import MAXIMUM_BYTES, choose, is_plain, read_corpora
from ingest.formats.registry import FORMATS
from kg.errors import CaseFormatError, InputError, UnknownEntityError

ENTRY = """\
corpora:
  - id: toy
    title: A toy
    source: https://example.org/toy
    commit: abc
    licence: MIT
    reader: case-jsonl
    rows: 2
    bytes: 100
    address: https://example.org/raw/abc/
    files:
      data/one.jsonl: {digest}
""".format(digest="a" * 64)


def test_what_ships_is_whole() -> None:
    corpora = read_corpora()
    readers = {known.name for known in FORMATS}
    assert len(corpora) >= 15
    assert sum(corpus.rows for corpus in corpora.values()) > 350_000
    for corpus in corpora.values():
        assert set(corpus.reader.split(", ")) <= readers, corpus.id
        assert corpus.commit in corpus.address  # at a commit, so that what is fetched cannot change
        assert corpus.address.startswith("https://")
        assert corpus.size_bytes < MAXIMUM_BYTES
        assert len(corpus.title) < 70


def test_an_entry_is_read(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(ENTRY)
    [corpus] = read_corpora(path).values()
    assert corpus.files == {"data/one.jsonl": "a" * 64}
    assert corpus.mark.startswith("corpus/toy/")
    path.write_text(ENTRY.replace("a" * 64, "b" * 64))
    [other] = read_corpora(path).values()
    assert other.mark != corpus.mark


@pytest.mark.parametrize(
    ("text", "instead", "says"),
    [
        ("https://example.org/raw", "http://example.org/raw", "is not https"),
        ("https://example.org/raw", "https://me@example.org/raw", "is not https"),
        ("data/one.jsonl", "../one.jsonl", "no path below a folder"),
        ("data/one.jsonl", "/etc/passwd", "no path below a folder"),
        ("a" * 64, "abc", "is no SHA-256"),
        (
            "    files:\n      data/one.jsonl: " + "a" * 64,
            "    digest: " + "a" * 64,
            "needs files, or an archive",
        ),
        ("bytes: 100", "bytes: 99999999999", "more than 1024 MiB"),
        ("    rows: 2\n", "    rows: few\n", "no positive whole number"),
        ("    licence: MIT\n", "", "licence is missing"),
        ("    licence: MIT\n", "    licence: MIT\n    run: rm\n", "unknown field run"),
        ("id: toy", "id: ../toy", "not lower-case words"),
    ],
)
def test_a_wrong_entry_is_told_with_its_line(tmp_path: Path, text: str, instead: str, says: str) -> None:
    assert text in ENTRY
    path = tmp_path / "own.yaml"
    path.write_text(ENTRY.replace(text, instead))
    with pytest.raises(CaseFormatError) as wrong:
        read_corpora(path)
    assert any(says in fault.reason and fault.place.startswith("line ") for fault in wrong.value.faults)


def test_a_catalogue_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_corpora(tmp_path / "none.yaml")


def test_a_name_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(ENTRY)
    corpora = read_corpora(path)
    assert [corpus.id for corpus in choose(corpora, ["toy", "toy"])] == ["toy"]
    with pytest.raises(UnknownEntityError) as unknown:
        choose(corpora, ["tyo"])
    assert unknown.value.hint == "known: toy"


def test_paths() -> None:
    assert is_plain("data/N=1,block_shape=[128, 128].json")
    assert not any(map(is_plain, ("", "a//b", "a/../b", ".", "/a", "a\\b", "a\nb", "-rf")))
