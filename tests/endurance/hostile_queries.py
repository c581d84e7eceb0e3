"""Requests to a SPARQL endpoint that are made to hurt it, drawn by families from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from recommender.service.access import MOST_BODY_BYTES

FORM, QUERY, UPDATE = (
    "application/x-www-form-urlencoded",
    "application/sparql-query",
    "application/sparql-update",
)
MEGABYTE = 1_000_000
ACCEPTED = (
    *("application/sparql-results+json", "application/sparql-results+xml", "text/csv"),
    *("text/tab-separated-values", "*/*"),
)
TRIPLES = ("text/turtle", "application/n-triples")
PREDICATES = ("rdf:type", "skos:broader", "tg:hardware", "prov:wasDerivedFrom", "tg:hasFact")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileRequest:
    """One request.

    Attributes:
        family: What makes it hostile.
        body: Sent by POST.
        media_type: Of the body.
        accept: Media type that the answer should have.
        is_forbidden: An answer of 200 would be a hole: it asks another server, or changes the graph.
    """

    family: str
    body: bytes = field(repr=False)
    media_type: str = QUERY
    accept: str = "*/*"
    is_forbidden: bool = False

    @property
    def is_too_long(self) -> bool:
        """Whether the server refuses it by its size, perhaps before all is sent."""
        return len(self.body) > MOST_BODY_BYTES


def hostile_requests(count: int, seed: int) -> Iterator[HostileRequest]:
    """Yield requests, each family in turn."""
    rng = Random(seed)
    families = list(_FAMILIES.items())
    for number in range(count):
        name, (make, is_forbidden) = families[number % len(families)]
        made = make(rng)
        body, media_type = made if isinstance(made, tuple) else (made, QUERY)
        accept = rng.choice(TRIPLES if name == "triples" else ACCEPTED)
        content = body if isinstance(body, bytes) else body.encode()
        yield HostileRequest(
            family=name, body=content, media_type=media_type, accept=accept, is_forbidden=is_forbidden
        )


def _patterns(number: int) -> str:
    return " . ".join(f"?a{i} ?b{i} ?c{i}" for i in range(number))


def _cross(rng: Random) -> str:
    patterns = _patterns(rng.randint(2, 6))
    return rng.choice(
        [
            f"SELECT (COUNT(*) AS ?n) {{ {patterns} }}",
            f"SELECT DISTINCT ?a0 ?c1 {{ {patterns} }}",
            f"SELECT * {{ {patterns} FILTER(STRLEN(CONCAT(STR(?a0), STR(?c1))) < 0) }}",
            f"ASK {{ {patterns} FILTER(?a0 = ?b1 && ?b0 = ?a1 && ?c0 = 7) }}",
            f"SELECT * {{ {patterns} }} LIMIT {rng.choice([10, 10_000, 10**9])} OFFSET {10 ** rng.randint(3, 12)}",
        ]
    )


def _path(rng: Random) -> str:
    depth = rng.choice([1, 2, 5, 50, 500, 20_000])
    inner = "|".join(rng.sample(PREDICATES, 3))
    path = rng.choice(
        [
            "(" * depth + inner + ")*" * depth,
            "/".join(["(!rdf:nil|^!rdf:nil)"] * min(depth, 50)),
            f"(!rdf:nil|^({inner}))*",
            "/".join([f"({inner})?"] * depth),
        ]
    )
    return f"SELECT (COUNT(*) AS ?n) {{ ?a {path} ?b . ?b {path} ?c }}"


def _text(rng: Random) -> str:
    size = rng.randint(MEGABYTE // 5, MEGABYTE - 1000)
    return rng.choice(
        [
            f'SELECT ?s {{ ?s ?p "{"x" * size}" }}',
            f"#{'y' * size}\nASK {{}}",
            f"SELECT * {{ VALUES ?v {{ {' '.join(map(str, range(size // 8)))} }} ?s ?p ?v }}",
            f"SELECT * {{ {' UNION '.join(['{ ?s ?p ?o }'] * (size // 22))} }}",
            f"ASK {{ FILTER({'(' * (size // 2)}1{')' * (size // 2)}) }}",
            f"ASK {'{' * (size // 2)}{'}' * (size // 2)}",
            f"SELECT {' '.join(f'?v{i}' for i in range(size // 9))} {{ ?s ?p ?o }}",
            f"ASK {{ FILTER({'!' * size}true) }}",
        ]
    )


def _too_long(rng: Random) -> str:
    return f'ASK {{ ?s ?p "{"x" * rng.randint(MEGABYTE + 100_000, 3 * MEGABYTE)}" }}'


def _service(rng: Random) -> str:
    word = rng.choice(["SERVICE", "service", "SeRvIcE SILENT", "\\u0053ERVICE", "SERVICE#\n"])
    place = rng.choice(["<http://127.0.0.1:9/>", "<file:///etc/passwd>", "?s", "<http://[::1]:22/>"])
    inner = f"{word} {place} {{ ?s ?p ?o }}"
    return rng.choice(
        [
            f"SELECT * {{ ?s ?p ?o . {inner} }} LIMIT 5",
            f"SELECT * {{ {{ SELECT * {{ {inner} }} }} }}",
            f"ASK {{ FILTER EXISTS {{ {inner} }} }}",
            f"SELECT * {{ OPTIONAL {{ {inner} }} }}",
        ]
    )


def _update(rng: Random) -> tuple[str, str]:
    text = rng.choice(
        [
            *(
                "LOAD <http://127.0.0.1:9/>",
                "LOAD SILENT <file:///etc/passwd>",
                "CLEAR ALL",
                "DROP SILENT ALL",
            ),
            *("DELETE WHERE { ?s ?p ?o }", "INSERT DATA { <urn:a> <urn:b> <urn:c> }", "CREATE GRAPH <urn:g>"),
            "PREFIX SELECT: <urn:s> INSERT DATA { <urn:a> <urn:b> <urn:c> }",
            "SELECT * { ?s ?p ?o } ; DELETE WHERE { ?s ?p ?o }",
            "# SELECT\nDELETE { ?s ?p ?o } INSERT { ?o ?p ?s } WHERE { ?s ?p ?o }",
        ]
    )
    kind = rng.choice([QUERY, UPDATE, FORM])
    return (f"update={text}" if kind == FORM else text), kind


def _order(rng: Random) -> str:
    patterns = _patterns(rng.randint(1, 3))
    return rng.choice(
        [
            f"SELECT * {{ {patterns} }} ORDER BY DESC(STR(?c0)) ?b0 LCASE(STR(?a0))",
            f"SELECT ?c0 (GROUP_CONCAT(STR(?a0)) AS ?all) {{ {patterns} }} GROUP BY ?c0",
            f"SELECT ?k (COUNT(DISTINCT *) AS ?n) {{ {patterns} BIND(MD5(STR(?a0)) AS ?k) }} GROUP BY ?k ORDER BY ?n",
            f"SELECT * {{ {patterns} }} ORDER BY RAND() LIMIT 10000",
            f"SELECT (GROUP_CONCAT(CONCAT(STR(?a0), STR(?c0))) AS ?one) {{ {patterns} }}",
        ]
    )


def _regex(rng: Random) -> str:
    subject = "a" * rng.choice([30, 5_000, 100_000])
    pattern = rng.choice(
        [
            "(a+)+$",
            "(a|a)*b",
            "(.*a){20}",
            "((a{1,100}){1,100}){1,100}",
            "(a{1000}){1000}",
            "(?:" * 5000,
            "[\\\\w-]",
        ]
    )
    return rng.choice(
        [
            f'SELECT * {{ ?s ?p ?o FILTER REGEX(STR(?o), "{pattern}", "i") }}',
            f'SELECT * {{ ?s ?p ?o BIND(REPLACE("{subject}", "{pattern}", "$0$0") AS ?r) }}',
            f'ASK {{ FILTER REGEX("{subject}b", "{pattern}") }}',
        ]
    )


def _growth(rng: Random) -> str:
    depth = rng.randint(5, 40)
    doubled = " ".join(f"BIND(CONCAT(?x{i}, ?x{i}) AS ?x{i + 1})" for i in range(depth))
    return f'SELECT ?x{depth} {{ ?s ?p ?o BIND(CONCAT(STR(?s), "longer and longer ") AS ?x0) {doubled} }}'


def _unicode(rng: Random) -> str | bytes:
    odd = rng.choice(
        ["\u202e", "\u0000", "\ufeff", "\U0001f4a9", "e" + "\u0301" * 3000, "\u2028", "\uffff", "𝒂"]
    )
    texts: list[str | bytes] = [
        f'SELECT ("{odd}" AS ?x) {{ ?s ?p ?o }} LIMIT 3',
        f"SELECT ?{odd} {{ ?{odd} ?p ?o }} LIMIT 3",
        f"{odd}ASK {{}}",
        'ASK { FILTER("\\uD800" = "\\U00110000") }',
        b'ASK { ?s ?p "\xff\xfe" }',
        b'ASK { ?s ?p "\xc0\xaf\xed\xa0\x80" }',
        f'SELECT (UCASE("{odd * 50}") AS ?x) (<urn:{odd}> AS ?y) (ENCODE_FOR_URI("{odd}") AS ?z) {{}}',
    ]
    return rng.choice(texts)


def _torn(rng: Random) -> str:
    text = rng.choice([_cross, _path, _order, _growth])(rng)[:5000]
    cut = rng.randrange(1, len(text))
    return rng.choice(
        [text[:cut], text[cut:], text[:cut] + rng.choice("{}()\"'<>\\\0") + text[cut:], text * 2]
    )


def _triples(rng: Random) -> str:
    return rng.choice(
        [
            f"CONSTRUCT {{ ?a0 ?b1 ?c1 }} {{ {_patterns(rng.randint(2, 4))} }}",
            "DESCRIBE * { ?s ?p ?o }",
            "CONSTRUCT { ?s ?p [ rdf:value ?o ] } { ?s ?p ?o }",
            "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o } ORDER BY ?o",
        ]
    )


def _wide(rng: Random) -> str:
    text = "é<&\\n\\t,;" * rng.choice([10, 300, 3000])
    return f'SELECT ?s ?o ("{text}" AS ?x) {{ ?s ?p ?o }} LIMIT {rng.choice([100, 9_999, 10_001, 10**6])}'


_FAMILIES: dict[str, tuple[Callable[[Random], str | bytes | tuple[str, str]], bool]] = {
    "cross": (_cross, False),
    "path": (_path, False),
    "text": (_text, False),
    "too_long": (_too_long, True),
    "service": (_service, True),
    "update": (_update, True),
    "order": (_order, False),
    "regex": (_regex, False),
    "growth": (_growth, False),
    "unicode": (_unicode, False),
    "torn": (_torn, False),
    "triples": (_triples, False),
    "wide": (_wide, False),
}
"""How to draw a request of each family, and whether an answer would be a hole."""
