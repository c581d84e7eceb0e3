"""An RDF term as the cell of a table, in the words of SPARQL's JSON results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from kg.triples.vocabulary import XSD_STRING

if TYPE_CHECKING:
    from kg.triples.graph import Term


def cell_of(term: Term) -> dict[str, str]:
    """Type and value of a term, and the language or the datatype of a literal that is no plain text."""
    match term:
        case NamedNode():
            return {"type": "uri", "value": term.value}
        case BlankNode():
            return {"type": "bnode", "value": term.value}
        case Literal() if term.language:
            return {"type": "literal", "value": term.value, "language": term.language}
        case Literal() if term.datatype != XSD_STRING:
            return {"type": "literal", "value": term.value, "datatype": term.datatype.value}
        case Literal():
            return {"type": "literal", "value": term.value}
        case Triple():
            return {"type": "triple", "value": str(term)}
