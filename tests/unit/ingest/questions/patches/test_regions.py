"""Texts held in quotes or in blocks of others."""

import pytest

from ingest.files.yaml_nodes import yaml_documents
from ingest.questions.patches.regions import difference, scalar_region, shell_region


def test_two_texts_differ_between_what_is_alike() -> None:
    assert difference("abcd", "abXcd") == (2, 2, 3)
    assert difference("same", "same") == (4, 4, 4)


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a: 'it''s 1'\n", "1", "2", "a: 'it''s 2'\n"),
        ('a: "say \\"1\\""\n', "1", '"', 'a: "say \\"\\"\\""\n'),
        ("a: one 1\n", "1", "2", "a: one 2\n"),
        ("a: |\n  b\n  c 1\nd: e\n", "c 1", "c 2\nf", "a: |\n  b\n  c 2\n  f\nd: e\n"),
        ("a: >\n  b\n  c 1\nd: e\n", " c 1", "", "a: >\n  b\nd: e\n"),
    ],
)
def test_only_what_differs_is_written(text: str, old: str, new: str, after: str) -> None:
    region = scalar_region(text, yaml_documents(text)[0].keys()["a"])
    assert region.put(region.says.replace(old, new)) == after


def test_a_word_of_a_shell_in_its_quotes() -> None:
    region = shell_region("sh -c 'a 1'", 6, 11, "a 1")
    assert region is not None
    assert region.put("a '2'") == "sh -c 'a '\\''2'\\'''"
    assert shell_region("sh -c a", 6, 7, "a") is None
