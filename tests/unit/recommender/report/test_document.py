"""The document: it comes back as it was, from JSON and from a page, or is refused."""

import gzip
import json
import math
import re
from base64 import b64decode, b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.errors import InputError
from recommender.report.document import ReportDocument, embedded, finite
from tests.unit.recommender.report import contents

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def embedded_in(letters: str) -> str:
    """A page around an embedded document."""
    return f'<script type="application/gzip" id="document">{letters}</script>'


@given(JSON)
def test_json_may_stand_in_a_page_and_comes_back(content: object) -> None:
    letters = embedded(finite(content))
    assert re.fullmatch(r"[\w+/=]*", letters, re.ASCII)
    assert json.loads(gzip.decompress(b64decode(letters))) == finite(content)


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
     (embedded_in(b64encode(b"no gzip").decode()), "holds no report"),
     (embedded_in(embedded({"cut": "off"})[:-8]), "holds no report"),
     (embedded_in(embedded({})), "holds no report")],
)  # fmt: skip
def test_what_is_no_report_is_refused(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=says):
        ReportDocument.read(path)


def test_a_page_that_unpacks_to_more_than_anything_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recommender.report.document.LARGEST_BYTES", 1000)
    path = tmp_path / "report.html"
    path.write_text(embedded_in(embedded(["a"] * 1000)), encoding="utf-8")
    with pytest.raises(InputError, match="holds no report"):
        ReportDocument.read(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        ReportDocument.read(tmp_path / "none.html")
