"""The SPARQL endpoint after the cases of the W3C's protocol suite (query_*, bad_query_*, update_*, bad_update_*)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import httpx
import pytest

from kg.triples.user_queries.sparql import Limits
from recommender.service.access import Access
from recommender.service.sparql import preferred
from tests.unit.recommender.service.conftest import TOKEN, running
from tests.unit.recommender.service.test_app import refusal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


OFFERED = ("application/a", "application/b", "text/c")


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "application/a"),
        ("*/*", "application/a"),
        ("text/*", "text/c"),
        ("application/b, */*;q=0.1", "application/b"),
        ("application/a;q=0.2, application/b;q=0.8", "application/b"),
        ("application/a;q=0, application/*", "application/b"),
        ("text/c; charset=utf-8", "text/c"),
        ("image/png", None),
        ("*/*;q=0", None),
        ("application/a;q=x", None),
    ],
)
def test_preferred(accept: str, kind: str | None) -> None:
    assert preferred(accept, OFFERED) == kind


FORM, QUERY, UPDATE = (
    "application/x-www-form-urlencoded",
    "application/sparql-query",
    "application/sparql-update",
)
SELECT = "SELECT ?s { ?s a tg:Strategy } ORDER BY ?s LIMIT 2"
CROSS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"


@pytest.fixture(scope="module")
def strict(served_path: Path) -> Iterator[httpx.Client]:
    """A server whose queries have little."""
    limits = Limits(seconds=1.5, rows=3)
    with running(served_path, Access.of("127.0.0.1"), limits=limits) as made:
        yield made


def test_query_get_and_both_posts_agree(client: httpx.Client) -> None:
    answers = [
        client.get("/sparql", params={"query": SELECT}),
        client.post("/sparql", data={"query": SELECT}),
        client.post("/sparql", content=SELECT.encode(), headers={"content-type": QUERY}),
        client.post("/sparql", content=SELECT.encode(), headers={"content-type": f"{QUERY}; charset=UTF-8"}),
    ]
    assert {item.status_code for item in answers} == {200}
    assert len({item.text for item in answers}) == 1
    assert answers[0].headers["content-type"] == "application/sparql-results+json"
    assert len(answers[0].json()["results"]["bindings"]) == 2


@pytest.mark.parametrize(
    ("query", "accept", "kind"),
    [
        (SELECT, "application/sparql-results+xml", "application/sparql-results+xml"),
        (SELECT, "text/csv", "text/csv; charset=utf-8"),
        (SELECT, "text/tab-separated-values;q=0.9, text/turtle", "text/tab-separated-values; charset=utf-8"),
        ("ASK { ?s a tg:Strategy }", "*/*", "application/sparql-results+json"),
        ("DESCRIBE ?s { ?s a tg:Strategy } LIMIT 1", "text/turtle", "text/turtle; charset=utf-8"),
        (
            "CONSTRUCT { ?s a tg:X } { ?s a tg:Strategy } LIMIT 2",
            "application/n-triples",
            "application/n-triples",
        ),
    ],
)
def test_query_content_types(query: str, accept: str, kind: str, client: httpx.Client) -> None:
    response = client.get("/sparql", params={"query": query}, headers={"accept": accept})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == kind
    assert response.text.strip()
    if "xml" in kind:
        assert response.text.count("<result>") == 2


def test_an_answer_that_no_accepted_type_holds_is_refused(client: httpx.Client) -> None:
    for accept in ("image/png", "text/turtle"):
        refusal(client.get("/sparql", params={"query": SELECT}, headers={"accept": accept}), 406)


def test_without_a_query_the_service_is_described(client: httpx.Client) -> None:
    response = client.get("/sparql")
    assert response.headers["content-type"].startswith("text/turtle")
    assert "sd:SPARQL11Query" in response.text


@pytest.mark.parametrize(
    ("method", "kind", "parameters", "body", "status"),
    [
        ("PUT", QUERY, {}, SELECT, 405),  # bad_query_method
        ("GET", "", [("query", "ASK {}"), ("query", "SELECT * {}")], "", 400),  # bad_multiple_queries
        ("POST", FORM, {}, "query=ASK%20%7B%7D&query=ASK%20%7B%7D", 400),
        ("POST", QUERY, {"query": "ASK {}"}, "ASK {}", 400),
        ("POST", "text/plain", {}, "ASK {}", 415),  # bad_query_wrong_media_type
        ("POST", "", {}, "query=ASK%20%7B%7D", 415),  # bad_query_missing_form_type
        ("POST", "", {}, "ASK {}", 415),  # bad_query_missing_direct_type
        ("POST", QUERY, {}, b"ASK { ?s ?p '\xff' }", 400),  # bad_query_non_utf8
        ("POST", f"{QUERY}; charset=UTF-16", {}, "ASK {}".encode("utf-16"), 415),
        ("GET", "", {"query": "ASK {"}, "", 400),  # bad_query_syntax
        ("POST", FORM, {}, "", 400),
        ("GET", "", {"query": "ASK {}", "default-graph-uri": "http://a.example"}, "", 400),
        ("POST", FORM, {}, "query=ASK%20%7B%7D&named-graph-uri=http://a.example", 400),
        ("POST", QUERY, {"default-graph-uri": "http://a.example"}, "ASK {}", 400),
        ("GET", "", {"query": "ASK {}", "colour": "red"}, "", 400),
        ("GET", "", {"query": "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }"}, "", 400),
        ("GET", "", {"query": "LOAD <http://127.0.0.1:1/>"}, "", 400),
        ("POST", FORM, {}, "update=CLEAR%20ALL", 403),  # update_post_form
        ("POST", UPDATE, {}, "CLEAR ALL", 403),  # update_post_direct
        ("POST", UPDATE, {"using-graph-uri": "http://a.example"}, "CLEAR ALL", 403),  # update_dataset_*
        ("GET", "", {"update": "CLEAR ALL"}, "", 403),  # bad_update_get
        ("POST", FORM, {}, "update=CLEAR%20ALL&update=CLEAR%20ALL", 403),  # bad_multiple_updates
        ("POST", "text/plain", {}, "CLEAR ALL", 415),  # bad_update_wrong_media_type
        ("POST", "", {}, "update=CLEAR%20ALL", 415),  # bad_update_missing_form_type
        ("POST", UPDATE, {}, b"INSERT DATA { <a> <b> '\xff' }", 403),  # bad_update_non_utf8
        ("POST", UPDATE, {}, "CLEAR XYZ", 403),  # bad_update_syntax
    ],
)
def test_what_is_refused(
    method: str,
    kind: str,
    parameters: dict[str, str],
    body: str | bytes,
    status: int,
    client: httpx.Client,
) -> None:
    headers = {"content-type": kind} if kind else {}
    content = body.encode() if isinstance(body, str) else body
    before = client.get("/readyz").json()["knowledge_version"]
    refusal(client.request(method, "/sparql", params=parameters, content=content, headers=headers), status)
    assert client.get("/readyz").json()["knowledge_version"] == before


def test_a_refused_dataset_is_named(client: httpx.Client) -> None:
    said = refusal(
        client.get("/sparql", params={"query": "ASK {}", "named-graph-uri": "http://a.example"}), 400
    )
    assert said["detail"].startswith("named-graph-uri:")


def test_a_deadline_is_504_and_never_half_an_answer(strict: httpx.Client) -> None:
    said = refusal(strict.get("/sparql", params={"query": CROSS}), 504)
    assert "did not end within" in said["detail"]
    torn = "SELECT ?a ?d ?g { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(STRLEN(CONCAT(STR(?a), STR(?d), STR(?g))) < 0) }"
    refusal(strict.get("/sparql", params={"query": torn}), 504)


def test_rows_beyond_the_limit_are_cut_and_it_is_said(strict: httpx.Client) -> None:
    response = strict.get("/sparql", params={"query": "SELECT ?s { ?s a tg:Strategy }"})
    assert response.headers["tunegraph-cut"] == "rows=3"
    assert len(json.loads(response.text)["results"]["bindings"]) == 3


def test_the_endpoint_wants_the_token_too(guarded: httpx.Client) -> None:
    refusal(guarded.get("/sparql", params={"query": "ASK {}"}), 401)
    right = {"authorization": f"Bearer {TOKEN.decode()}"}
    assert guarded.get("/sparql", params={"query": "ASK {}"}, headers=right).json()["boolean"] is True
    refusal(guarded.post("/sparql", data={"update": "CLEAR ALL"}, headers=right), 403)
