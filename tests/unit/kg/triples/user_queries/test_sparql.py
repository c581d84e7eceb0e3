"""A user's query: answered within its limits, or told what is wrong."""

import subprocess
import sys
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from kg.errors import InputError, WorkspaceError
from kg.triples.graph import GraphStore
from kg.triples.user_queries.sparql import Limits, ask
from kg.triples.user_queries.sparql_child import refusal
from kg.triples.vocabulary import TG


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph") / "1"
    with GraphStore(folder) as store:
        nodes = [NamedNode(f"http://example.org/{number}") for number in range(2000)]
        store.extend(Triple(node, TG.LEVEL, Literal("device")) for node in nodes)
        store.extend(
            [
                Triple(nodes[0], TG.VALUE, Literal(1.5)),
                Triple(nodes[0], TG.KEY, Literal("昇腾", language="zh")),
            ]
        )
    return folder


def test_select_gives_rows_of_text(snapshot: Path) -> None:
    answer = ask(
        snapshot, "SELECT ?s ?v ?k ?none WHERE { ?s tg:value ?v ; tg:key ?k OPTIONAL { ?s tg:no ?none } }"
    )
    assert answer.columns == ("s", "v", "k", "none")
    assert answer.rows == (
        (
            "http://example.org/0",
            "1.5",
            "昇腾",
            None,
        ),
    )
    assert not answer.cut


@pytest.mark.parametrize(("wanted", "truth"), [("device", "true"), ("vendor", "false")])
def test_ask(snapshot: Path, wanted: str, truth: str) -> None:
    answer = ask(snapshot, f'ASK {{ ?s tg:level "{wanted}" }}')
    assert (answer.columns, answer.rows) == (("answer",), ((truth,),))


def test_rows_beyond_the_limit_are_cut_and_said_to_be(snapshot: Path) -> None:
    query = "SELECT ?s WHERE { ?s tg:level ?level }"
    answer = ask(snapshot, query, limits=Limits(rows=10))
    assert (len(answer.rows), answer.cut) == (10, True)
    exact = ask(snapshot, f"{query} LIMIT 10", limits=Limits(rows=10))
    assert (len(exact.rows), exact.cut) == (10, False)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * WHERE { ?s ?p", r"line 1, column \d+, at its end$"),
        ("SELECT ?x { ?x tg:foo bar:baz }", r"line 1, column \d+, near '}': prefix not found$"),
        ("SELECT ?x {\n?x a ?y .\n?x ; ?z }", r"line 3, column \d+, near '"),
        ("SELECT (COUNT(?x) AS ?n) ?y { ?x a ?y }", "contains a variable that is unbound$"),
        ("SELEC ?x {}", "SELEC is no form of a question$"),
    ],
)
def test_a_syntax_fault_is_one_short_line(snapshot: Path, query: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as told:
        ask(snapshot, query)
    assert len(str(told.value).partition("\n")[0]) < 120


def test_a_syntax_fault_is_placed(snapshot: Path) -> None:
    with pytest.raises(InputError, match=r"line 2, column \d+"):
        ask(snapshot, "SELECT ?s WHERE {\n ?s ?p }")


ENDLESS = (
    "SELECT (COUNT(*) AS ?n) WHERE { ?a tg:level ?x . ?b tg:level ?y . ?c tg:level ?z . FILTER(?a != ?c) }"
)


def test_a_query_is_ended_at_its_deadline(snapshot: Path) -> None:
    with pytest.raises(InputError, match=r"did not end within 0\.4 s"):
        ask(snapshot, ENDLESS, limits=Limits(seconds=0.4))


def test_a_query_is_ended_when_it_takes_too_much_memory(snapshot: Path) -> None:
    query = "SELECT ?a ?b ?c WHERE { ?a tg:level ?x . ?b tg:level ?y . ?c tg:level ?z } ORDER BY ?c ?b ?a"
    with pytest.raises(InputError, match="memory"):
        ask(snapshot, query, limits=Limits(seconds=60, memory_bytes=100 << 20))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("INSERT DATA { <http://e/a> <http://e/b> 1 }", "INSERT changes"),
        ("PREFIX x: <http://select/>\nDELETE WHERE { ?s ?p ?o }", "DELETE changes"),
        ("# SELECT\nDROP ALL", "DROP changes"),
        ("SELECT ?s WHERE { SERVICE <http://example.org/sparql> { ?s ?p ?o } }", "SERVICE"),
        ("SELECT ?s WHERE { service silent <http://example.org/sparql> { ?s ?p ?o } }", "SERVICE"),
        ("SELECT ?s WHERE { ?s ?p ?o } ; DROP ALL", "fault"),
        ("", "fault"),
    ],
)
def test_what_is_not_a_question_is_refused(snapshot: Path, query: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        ask(snapshot, query)
    assert ask(snapshot, "ASK { ?s tg:value ?v }").rows == (("true",),)


@pytest.mark.parametrize(
    "query",
    [
        'SELECT ?s WHERE { ?s ?p "INSERT SERVICE" }',
        "SELECT ?service WHERE { ?service ex:service <http://SERVICE/> }",
        "# SERVICE\nASK { ?s ?p ?o }",
    ],
)
def test_words_inside_texts_names_and_comments_do_not_count(query: str) -> None:
    assert refusal(query) is None


def test_a_missing_snapshot_is_a_matter_of_the_workspace(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="cannot be opened"):
        ask(tmp_path / "none", "ASK { ?s ?p ?o }")


def test_a_query_is_answered_where_a_shell_allows_less(snapshot: Path) -> None:
    """Batch systems set limits that nothing may raise."""
    code = (
        "import resource, pathlib\n"
        "from kg.triples.user_queries.sparql import ask\n"
        "for what, most in ((resource.RLIMIT_CPU, 25), (resource.RLIMIT_AS, 3 << 30), (resource.RLIMIT_CORE, 0)):\n"
        "    resource.setrlimit(what, (most, most))\n"
        f"print(ask(pathlib.Path({str(snapshot)!r}), 'ASK {{}}').rows)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "(('true',),)\n", done.stderr
