"""Results in a notebook."""

import pytest

from recommender.report.notebook import mime_bundle
from tests.unit.recommender.report import contents


@pytest.mark.parametrize("kind", list(contents.CONTENTS))
def test_a_result_is_shown_without_scripts_and_as_text(kind: str) -> None:
    shown = mime_bundle(kind, contents.CONTENTS[kind]())
    assert "<script" not in shown["text/html"]
    assert shown["text/html"].startswith('<div class="tunegraph">')
    style = shown["text/html"].split("</style>")[0]
    assert ":root{" not in style
    assert "body{" not in style
    assert len(shown["text/plain"].splitlines()) > 3
    assert "<" not in shown["text/plain"].replace("<=", "")


def test_the_text_has_the_numbers() -> None:
    text = mime_bundle("experiment", contents.experiment())["text/plain"]
    assert "1.03x" in text
    assert "tile=8" in text
