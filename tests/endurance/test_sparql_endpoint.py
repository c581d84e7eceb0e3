"""The benchmark of hostile queries tells a torn answer from a whole one, and asks the same of the same seed."""

from __future__ import annotations

import shutil
from pathlib import Path

import httpx
import pytest

from tests.endurance.hostile_queries import hostile_requests
from tests.endurance.sparql_endpoint import fault_of, measure

JSON = b'{"head": {"vars": ["s"]}, "results": {"bindings": [{"s": {"type": "uri", "value": "urn:a"}}]}}'
XML = (
    b'<?xml version="1.0"?><sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="s"/></head>'
    b"<results><result><binding name='s'><uri>urn:a</uri></binding></result></results></sparql>"
)
TABLES = {
    "application/sparql-results+json": JSON,
    "application/sparql-results+xml": XML,
    "text/csv": b"s,o\r\nurn:a,urn:b\r\n",
    "text/tab-separated-values": b"?s\t?o\n<urn:a>\t<urn:b>\n",
    "text/turtle": b"<urn:a> <urn:b> <urn:c> .\n",
    "application/n-triples": b"<urn:a> <urn:b> <urn:c> .\n",
}


@pytest.mark.parametrize("kind", TABLES)
def test_an_answer_that_is_cut_is_torn(kind: str) -> None:
    body, headers = TABLES[kind], {"content-type": kind}
    assert fault_of(httpx.Response(200, content=body, headers=headers)) == ""
    assert fault_of(httpx.Response(200, content=body[:-9], headers=headers))


def test_rows_that_the_header_does_not_count_are_torn() -> None:
    headers = {"content-type": "application/sparql-results+json", "tunegraph-cut": "rows=2"}
    assert (
        fault_of(httpx.Response(200, content=JSON, headers=headers)) == "1 rows, and the header says rows=2"
    )


def test_a_seed_draws_the_same_requests_of_each_family() -> None:
    drawn = list(hostile_requests(39, 3))
    assert drawn == list(hostile_requests(39, 3))
    assert drawn != list(hostile_requests(39, 4))
    assert len({item.family for item in drawn}) == 13


@pytest.mark.long
def test_nothing_is_torn_or_a_hole(shipped_path: Path, tmp_path: Path) -> None:
    path = shutil.copytree(shipped_path, tmp_path / "workspace")
    figures = measure(path, queries=26, deadline_s=1.5, clients=2, seed=2)
    wrong = ("torn", "holes", "unexplained", "changed", "left_running")
    assert {name: figures[name] for name in wrong} == dict.fromkeys(wrong, 0)
