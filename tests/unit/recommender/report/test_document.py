"""The document: it comes back as it was, from JSON and from a page, or is refused."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.errors import InputError
from recommender.report.document import ReportDocument, embedded, finite
from tests.unit.recommender.report import contents

if TYPE_CHECKING:
    from pathlib import Path

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON)
def test_json_may_stand_in_a_page_and_comes_back(content: object) -> None:
    text = embedded(finite(content))
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == finite(content)


def test_a_document_comes_back() -> None:
    document = contents.document()
    assert (
        ReportDocument.from_json(json.loads(json.dumps(document.to_json()))).to_json() == document.to_json()
    )


def test_what_json_lacks_is_null() -> None:
    assert finite({"a": (math.nan, 1.0), 2: [math.inf]}) == {"a": [None, 1.0], "2": [None]}


@pytest.mark.parametrize(
    ("text", "says"),
    [("<html></html>", "holds no report"), ("{}", "holds no report"), ("[1]", "holds no report"), ("\udcff", "no text"),
     ('{"format": "tunegraph report", "version": 99}', "of version 99"),
     ('{"format": "tunegraph report", "version": 1, "title": "t"}', "damaged report"),
     ('<script type="application/json" id="document">{broken</script>', "holds no report")],
)  # fmt: skip
def test_what_is_no_report_is_refused(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=says):
        ReportDocument.read(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        ReportDocument.read(tmp_path / "none.html")
