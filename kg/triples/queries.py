"""The questions the program asks of the graph, by name; a user may run them too.

Each is written so that it starts from few nodes: an engine without a cost model runs a harmless-looking
query for minutes, so what is in here is timed on a large graph. Parameters are bound as terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode

from kg.errors import InputError, UnknownEntityError
from kg.triples import iris
from kg.triples import vocabulary as names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kg.triples.graph import GraphStore, Term


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryParameter:
    """A parameter of a query.

    Attributes:
        name: As in the query, without the question mark.
        means: What to give, in words.
        term: From what the user gives to a term.
    """

    name: str
    means: str
    term: Callable[[str], Term]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedQuery:
    """A query with a name.

    Attributes:
        name: What it is called by.
        answers: The question it answers.
        columns: What its rows hold, in order.
        parameters: What it needs.
        body: The SPARQL text after its prefixes.
    """

    name: str
    answers: str
    columns: tuple[str, ...]
    parameters: tuple[QueryParameter, ...] = ()
    body: str

    @property
    def sparql(self) -> str:
        """The whole text."""
        used = {prefix: iri for prefix, iri in names.PREFIXES.items() if f"{prefix}:" in self.body}
        prefixes = "".join(f"PREFIX {prefix}: <{iri}>\n" for prefix, iri in used.items())
        return f"{prefixes}SELECT {' '.join(f'?{name}' for name in self.columns)}\n{self.body}"

    def run(
        self, store: GraphStore, values: Mapping[str, str] | None = None
    ) -> Iterator[tuple[Term | None, ...]]:
        """Yield the rows of the query, one term for each column.

        Raises:
            InputError: A parameter is missing, or there is none of that name.
        """
        given = dict(values or {})
        wanted = {parameter.name for parameter in self.parameters}
        if given.keys() != wanted:
            wants = ", ".join(f"{item.name} ({item.means})" for item in self.parameters) or "no parameters"
            raise InputError(f"the query {self.name} takes {wants}; given: {', '.join(given) or 'none'}")
        return store.select(self.sparql, **{p.name: p.term(given[p.name]) for p in self.parameters})


def text_of(term: Term) -> str:
    """Return a term of an answer as text: a literal's value, the name of one of our nodes, else the IRI."""
    if isinstance(term, NamedNode):
        is_ours = "/tunegraph/" in term.value and "#" not in term.value
        return iris.name_of(term) if is_ours else term.value
    return term.value if isinstance(term, Literal) else str(term)


def query_named(name: str) -> NamedQuery:
    """Return a query of the catalogue.

    Raises:
        UnknownEntityError: There is none of that name.
    """
    if name not in CATALOGUE:
        raise UnknownEntityError(f"no query named {name!r}", hint=f"known: {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


_BOTTLENECK = QueryParameter(name="bottleneck", means="id of a bottleneck", term=iris.bottleneck_iri)
_HARDWARE = QueryParameter(name="hardware", means="id of a hardware node", term=iris.hardware_iri)
_FAMILY = QueryParameter(name="family", means="id of a model family", term=iris.family_iri)
_PROBLEM = QueryParameter(name="problem", means="id of a problem", term=iris.problem_iri)
_STRATEGY = QueryParameter(name="strategy", means="id of a strategy", term=iris.strategy_iri)
_REGION = QueryParameter(name="region", means="id of a grid region", term=iris.region_iri)
_OPERATOR = QueryParameter(name="operator", means="operator, kernel or activity", term=Literal)
_CODE = QueryParameter(name="code", means="error code", term=Literal)

_QUERIES = (
    NamedQuery(
        name="effects",
        answers="What did each strategy do against a bottleneck on a hardware?",
        columns=("strategy", "family", "metric", "kind", "n", "sum", "sum_squares", "last_evidence"),
        parameters=(_BOTTLENECK, _HARDWARE),
        body="""WHERE { {
  SELECT ?strategy ?family ?metric ?kind (SUM(?gains) AS ?n) (SUM(?unats) AS ?sum)
    (SUM(?squares) AS ?sum_squares) (MAX(?time) AS ?last_evidence) WHERE {
    ?context tg:bottleneck ?bottleneck ; tg:hardware ?hardware ; tg:hasEffect ?effect .
    ?effect tg:strategy ?strategy ; tg:metric ?metric ; tg:effectKind ?kind .
    ?part tg:evidenceOf? ?effect .
    ?part tg:n ?gains ; tg:sumMicronats ?unats ; tg:sumSquaresMicronats2 ?squares .
    OPTIONAL { ?context tg:family ?family }
    OPTIONAL { ?effect tg:lastEvidence ?time }
  } GROUP BY ?effect ?strategy ?family ?metric ?kind
} } ORDER BY ?strategy ?metric ?kind""",
    ),
    NamedQuery(
        name="strategies-against",
        answers="Which strategies are meant for a bottleneck, and who says so?",
        columns=("strategy", "label", "kind", "source", "title"),
        parameters=(_BOTTLENECK,),
        body="""WHERE {
  ?strategy tg:mitigates ?bottleneck ; tg:strategyKind ?kind ; tg:mitigation ?relation .
  ?relation tg:target ?bottleneck ; prov:wasDerivedFrom ?source .
  ?source dcterms:title ?title .
  OPTIONAL { ?strategy skos:prefLabel ?label FILTER(LANG(?label) = "en") }
} ORDER BY ?strategy ?source""",
    ),
    NamedQuery(
        name="strategy-relations",
        answers="What does a strategy mitigate, need, exclude, and where does it do harm?",
        columns=("relation", "target", "source"),
        parameters=(_STRATEGY,),
        body="""WHERE {
  VALUES ?relation { tg:mitigation tg:requirement tg:conflict tg:contraindication }
  ?strategy ?relation ?statement .
  ?statement tg:target ?target ; prov:wasDerivedFrom ?source .
} ORDER BY ?relation ?target""",
    ),
    NamedQuery(
        name="strategy-scope",
        answers="Under which conditions does a strategy apply, and what is to be minded?",
        columns=("kind", "condition", "words", "source"),
        parameters=(_STRATEGY,),
        body="""WHERE {
  VALUES ?kind { tg:appliesWhen tg:hasCaveat }
  ?strategy ?kind ?clause .
  ?clause prov:wasDerivedFrom ?source .
  OPTIONAL { ?clause tg:expression ?condition }
  OPTIONAL { ?clause tg:inWords ?words }
} ORDER BY ?kind ?condition ?words""",
    ),
    NamedQuery(
        name="cause-chain",
        answers="What may be behind a bottleneck, edge by edge down to the roots?",
        columns=("effect", "cause", "confidence", "source"),
        parameters=(_BOTTLENECK,),
        body="""WHERE {
  ?bottleneck tg:causedBy* ?effect .
  ?effect tg:hasCauseEdge ?edge .
  ?edge tg:target ?cause ; tg:confidence ?confidence ; prov:wasDerivedFrom ?source .
} ORDER BY ?effect ?cause""",
    ),
    NamedQuery(
        name="provenance",
        answers="Which batches and sources does a problem come from?",
        columns=("batch", "time", "source", "title", "url", "path"),
        parameters=(_PROBLEM,),
        body="""WHERE {
  ?problem prov:wasDerivedFrom ?source .
  ?source dcterms:title ?title .
  OPTIONAL { ?source tg:url ?url }
  OPTIONAL { ?source tg:path ?path }
  OPTIONAL { ?problem tg:batch ?batch . ?batch prov:endedAtTime ?time }
} ORDER BY ?batch ?title ?path""",
    ),
    NamedQuery(
        name="hardware-facts",
        answers="What is known of a hardware and of the nodes above it, and from where?",
        columns=("node", "fact", "value", "kind", "confidence", "note", "title", "url"),
        parameters=(_HARDWARE,),
        body="""WHERE {
  ?hardware skos:broader* ?node .
  ?node tg:hasFact ?statement .
  ?statement tg:factName ?fact ; tg:value ?value ; tg:factKind ?kind ; tg:confidence ?confidence ;
    prov:wasDerivedFrom ?source .
  ?source dcterms:title ?title .
  OPTIONAL { ?source tg:url ?url }
  OPTIONAL { ?statement skos:note ?note }
} ORDER BY ?fact ?node ?value""",
    ),
    NamedQuery(
        name="disagreements",
        answers="Which facts do two sources state differently?",
        columns=("node", "fact", "value", "source", "other", "other_source"),
        parameters=(),
        body="""WHERE {
  ?node tg:hasFact ?one , ?two .
  ?one tg:factName ?fact ; tg:value ?value ; prov:wasDerivedFrom ?from .
  ?two tg:factName ?fact ; tg:value ?other ; prov:wasDerivedFrom ?to .
  FILTER(STR(?one) < STR(?two) && ?value != ?other)
  ?from dcterms:title ?source . ?to dcterms:title ?other_source .
} ORDER BY ?node ?fact ?value""",
    ),
    NamedQuery(
        name="models-of-family",
        answers="Which models does a family have, and how large are they?",
        columns=("model", "label", "architecture", "parameters"),
        parameters=(_FAMILY,),
        body="""WHERE {
  ?model tg:family ?family ; a tg:Model ; tg:architecture ?architecture .
  OPTIONAL { ?model skos:prefLabel ?label FILTER(LANG(?label) = "en") }
  OPTIONAL { ?model property:parameters ?parameters }
} ORDER BY ?parameters ?model""",
    ),
    NamedQuery(
        name="problems-on-hardware",
        answers="Which problems have been seen on a hardware? (The first thousand.)",
        columns=("problem", "operator", "model", "metric"),
        parameters=(_HARDWARE,),
        body="""WHERE {
  ?problem tg:hardware ?hardware ; tg:workload ?workload ; tg:objective ?objective .
  ?workload tg:operator ?operator .
  ?objective tg:metric ?metric .
  OPTIONAL { ?workload tg:model ?model }
} LIMIT 1000""",
    ),
    NamedQuery(
        name="problems-of-operator",
        answers="On which hardware has an operator been seen, and in how many problems?",
        columns=("hardware", "problems"),
        parameters=(_OPERATOR,),
        body="""WHERE { {
  SELECT ?hardware (COUNT(?problem) AS ?problems) WHERE {
    ?workload tg:operator ?operator .
    ?problem tg:workload ?workload ; tg:hardware ?hardware .
  } GROUP BY ?hardware
} } ORDER BY DESC(?problems) ?hardware""",
    ),
    NamedQuery(
        name="classes",
        answers="How many nodes of each class are there?",
        columns=("class", "nodes"),
        body="""WHERE { {
  SELECT ?class (COUNT(?node) AS ?nodes) WHERE { ?node a ?class } GROUP BY ?class
} } ORDER BY DESC(?nodes) ?class""",
    ),
    NamedQuery(
        name="kinds",
        answers="How many facts, strategies, effects and workloads are there of each kind?",
        columns=("property", "kind", "nodes"),
        body="""WHERE { {
  SELECT ?property ?kind (COUNT(?node) AS ?nodes) WHERE {
    VALUES ?property { tg:factKind tg:strategyKind tg:effectKind tg:workloadKind }
    ?node ?property ?kind
  } GROUP BY ?property ?kind
} } ORDER BY ?property ?kind""",
    ),
    NamedQuery(
        name="faults-by-code",
        answers="What does an error code mean, and what helps?",
        columns=("fault", "explanation", "remedy", "strategy", "title"),
        parameters=(_CODE,),
        body="""WHERE {
  ?fault tg:code ?code ; prov:wasDerivedFrom ?source .
  ?source dcterms:title ?title .
  OPTIONAL { ?fault tg:explanation ?explanation FILTER(LANG(?explanation) = "en") }
  OPTIONAL { ?fault tg:remedy ?remedy FILTER(LANG(?remedy) = "en") }
  OPTIONAL { ?fault tg:remediedBy ?strategy }
} ORDER BY ?fault ?strategy""",
    ),
    NamedQuery(
        name="batches",
        answers="What was ingested, when and from which files?",
        columns=("number", "time", "file", "counts"),
        body="""WHERE {
  ?batch tg:batchNumber ?number ; prov:endedAtTime ?time .
  OPTIONAL { ?batch tg:file ?file }
  OPTIONAL { ?batch tg:counts ?counts }
} ORDER BY DESC(?number) ?file""",
    ),
    NamedQuery(
        name="sources",
        answers="On which sources does the knowledge rest, and with how many statements each?",
        columns=("source", "title", "url", "statements"),
        body="""WHERE {
  { SELECT ?source (COUNT(?statement) AS ?statements) WHERE {
      VALUES ?class {
        tg:Fact tg:Symptom tg:CauseEdge tg:Relation tg:VersionBound tg:Strategy tg:Cause tg:Fault
      }
      ?statement a ?class ; prov:wasDerivedFrom ?source
  } GROUP BY ?source }
  ?source dcterms:title ?title .
  OPTIONAL { ?source tg:url ?url }
} ORDER BY DESC(?statements) ?title""",
    ),
    NamedQuery(
        name="green-windows",
        answers="When is the electricity of a region cleanest?",
        columns=("start_hour", "end_hour", "grams_per_kwh", "title"),
        parameters=(_REGION,),
        body="""WHERE {
  ?schedule tg:region ?region ; tg:startHour ?start_hour ; tg:endHour ?end_hour ;
    tg:carbonIntensityGramsPerKilowattHour ?grams_per_kwh ; prov:wasDerivedFrom ?source .
  ?source dcterms:title ?title .
} ORDER BY ?grams_per_kwh ?start_hour""",
    ),
)

CATALOGUE: Mapping[str, NamedQuery] = {query.name: query for query in _QUERIES}
"""Queries by name."""
