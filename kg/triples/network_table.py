"""Networks known by their operations alone, for models whose sizes the graph does not hold.

A name may carry what an edition adds to it: ``ResNeSt50_ID1234_for_PyTorch`` is ``ResNeSt50``.
"""

import csv
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import data
from kg.terms.model_name import Part, read_name
from kg.triples.names import normalise

TABLE = "models/networks.csv"
FACTS = ("parameters", "flops_per_sample", "image_size", "activations_per_sample")


def network_facts(name: str) -> Mapping[str, float | str]:
    """Facts of a network and ``operations_source``, the page that states them; empty if there are none."""
    table = _table()
    read = read_name(name)
    names = (name, read.short, read.without(Part.PACKING))
    return next((table[key] for one in names if (key := normalise(one)) in table), {})


@cache
def _table() -> Mapping[str, Mapping[str, float | str]]:
    rows = csv.DictReader(data.text(TABLE).splitlines())
    pages: dict[str, str] = {}
    found: dict[str, Mapping[str, float | str]] = {}
    for row in rows:
        if row["name"].startswith("="):
            pages[row["name"][1:]] = row["parameters"]
            continue
        facts: dict[str, float | str] = {fact: float(row[fact]) for fact in FACTS if row[fact]}
        source = pages[row["source"]]
        facts["operations_source"] = f"{source} ({row['note']})" if row["note"] else source
        found[normalise(row["name"])] = MappingProxyType(facts)
    return found
