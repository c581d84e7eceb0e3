"""IRIs of the nouns, and values as literals.

An IRI follows from what it names, so the same noun gets the same IRI in every workspace and merging
two graphs is a union. There are no blank nodes. Names are percent-encoded, and ``name_of`` undoes it.
Bottlenecks and causes share one path, since a cause edge may point at either.
"""

from __future__ import annotations

import json
import re
from datetime import UTC
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from pyoxigraph import Literal, NamedNode

from kg.nouns.values import as_value, canonical_json, digest
from kg.triples.vocabulary import NAMESPACE, PREFIXES, RDF_JSON

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from kg.nouns.values import Value
    from kg.triples.graph import Term


@lru_cache(maxsize=1 << 12)
def segment(name: str) -> str:
    """Encode a name as one IRI path segment: percent-encoded, and never ``.`` or ``..``."""
    return quote(name, safe="") if name.strip(".") or not name else name.replace(".", "%2E")


@lru_cache(maxsize=1 << 16)
def iri_of(path: str, name: str) -> NamedNode:
    """Return the IRI of a name under a path such as ``"hardware"``."""
    return NamedNode(f"{NAMESPACE}{path}/{segment(name)}")


def name_of(iri: NamedNode) -> str:
    """Return the name that ends an IRI made by this module."""
    return unquote(iri.value.rpartition("/")[2])


def hardware_iri(hardware_id: str) -> NamedNode:
    """Return the IRI of a node of the hardware tree."""
    return iri_of("hardware", hardware_id)


def model_iri(model_id: str) -> NamedNode:
    """Return the IRI of a model."""
    return iri_of("model", model_id)


def framework_iri(framework_id: str) -> NamedNode:
    """IRI of a framework."""
    return iri_of("framework", framework_id)


def family_iri(family_id: str) -> NamedNode:
    """Return the IRI of a model family."""
    return iri_of("family", family_id)


def bottleneck_iri(bottleneck_id: str) -> NamedNode:
    """Return the IRI of a bottleneck; the same as that of a cause of this id."""
    return iri_of("pattern", bottleneck_id)


def cause_iri(cause_id: str) -> NamedNode:
    """Return the IRI of a cause; the same as that of a bottleneck of this id."""
    return iri_of("pattern", cause_id)


def strategy_iri(strategy_id: str) -> NamedNode:
    """Return the IRI of a strategy."""
    return iri_of("strategy", strategy_id)


def fault_iri(fault_id: str) -> NamedNode:
    """Return the IRI of a known fault."""
    return iri_of("fault", fault_id)


def recipe_iri(recipe_id: str) -> NamedNode:
    """Return the IRI of a recipe."""
    return iri_of("recipe", recipe_id)


def parameter_iri(name: str) -> NamedNode:
    """Return the IRI of a tunable parameter."""
    return iri_of("parameter", name)


def region_iri(region_id: str) -> NamedNode:
    """Return the IRI of an electricity grid region."""
    return iri_of("region", region_id)


def schedule_iri(schedule_id: str) -> NamedNode:
    """Return the IRI of a green schedule."""
    return iri_of("schedule", schedule_id)


def problem_iri(problem_id: str) -> NamedNode:
    """Return the IRI of a problem."""
    return NamedNode(f"{NAMESPACE}problem/{problem_id}")


def workload_iri(task_id: str) -> NamedNode:
    """Return the IRI of a workload as one task sees it; problems on other devices share it."""
    return NamedNode(f"{NAMESPACE}workload/{task_id}")


def source_iri(source_id: str) -> NamedNode:
    """Return the IRI of a source."""
    return NamedNode(f"{NAMESPACE}source/{source_id}")


def batch_iri(number: int) -> NamedNode:
    """Return the IRI of a batch."""
    return NamedNode(f"{NAMESPACE}batch/{number}")


def context_iri(bottleneck: str, hardware: str, family: str, against: str = "", facts: str = "") -> NamedNode:
    """Return the IRI of a context; an empty part means any."""
    parts = (
        bottleneck,
        hardware,
        family,
        *([against] if against or facts else []),
        *([facts] if facts else []),
    )
    return NamedNode(f"{NAMESPACE}context/{'/'.join(map(segment, parts))}")


def effect_iri(context: NamedNode, strategy: str, metric: str, kind: str, trust: str = "") -> NamedNode:
    """Return the IRI of a strategy's effect on a metric in a context, as one kind of evidence has it.

    ``trust`` is empty for sources of medium trust.
    """
    where = context.value.removeprefix(f"{NAMESPACE}context/")
    what = "/".join(map(segment, (strategy, metric, kind, *([trust] if trust else []))))
    return NamedNode(f"{NAMESPACE}effect/{where}/{what}")


def evidence_iri(evidence_id: str) -> NamedNode:
    """Return the IRI of gains that are told together."""
    return NamedNode(f"{NAMESPACE}evidence/{evidence_id}")


def outcome_iri(outcome_id: str) -> NamedNode:
    """Return the IRI of the outcome of an A/B test."""
    return NamedNode(f"{NAMESPACE}outcome/{outcome_id}")


def part_iri(owner: NamedNode, predicate: NamedNode, content: Iterable[tuple[NamedNode, Term]]) -> NamedNode:
    """Return the IRI of a qualified statement: a digest of who it is about and what it says."""
    statements = sorted(f"{name.value} {term}" for name, term in content)
    return NamedNode(f"{NAMESPACE}statement/{digest(owner.value, predicate.value, statements)}")


def literal(value: Value) -> Literal:
    """Convert a value to a typed literal; lists and None become ``rdf:JSON``."""
    if value is None or isinstance(value, tuple):
        return Literal(canonical_json(value), datatype=RDF_JSON)
    return Literal(value)


def language_literal(text: str, otherwise: str | None = None) -> Literal:
    """Convert a text to a literal with the tag of its language: Chinese where it has a Chinese character.

    Args:
        text: The text.
        otherwise: Tag of a text without one; None for a name, which is of no language.
    """
    language = "zh" if _HAN.search(text) else otherwise
    return Literal(text, language=language) if language else Literal(text)


_HAN = re.compile("[\u4e00-\u9fff]")
"""Unified Chinese characters.

Source:
    The Unicode Standard 15.0, block CJK Unified Ideographs.
"""


def value_of(term: Literal) -> Value:
    """Return the value of a literal; an unknown datatype gives its text.

    Raises:
        ValueError: The text does not fit its datatype.
    """
    match term.datatype.value.removeprefix(PREFIXES["xsd"]):
        case "boolean":
            return term.value in {"true", "1"}
        case "integer" | "int" | "long" | "nonNegativeInteger" | "positiveInteger":
            return int(term.value)
        case "double" | "float" | "decimal":
            return float(term.value)
        case _ if term.datatype == RDF_JSON:
            return as_value(json.loads(term.value))
        case _:
            return term.value


@lru_cache(maxsize=1 << 12)
def time_text(time: datetime) -> str:
    """Format a moment as ``xsd:dateTime`` in UTC, in its canonical spelling."""
    text = time.astimezone(UTC).replace(tzinfo=None).isoformat()
    return f"{text.rstrip('0') if '.' in text else text}Z"


def labels_of(terms: Iterable[Term]) -> dict[str, str]:
    """Return texts by language; of several in one language the first in alphabetical order."""
    texts = [term for term in terms if isinstance(term, Literal) and term.language]
    texts.sort(key=lambda text: text.value, reverse=True)
    return {str(text.language): text.value for text in texts}
