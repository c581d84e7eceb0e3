"""Networks known by their operations alone, for models whose sizes the graph does not hold.

A name may carry what an edition adds to it: ``ResNeSt50_ID1234_for_PyTorch`` is ``ResNeSt50``.
"""

from __future__ import annotations

import csv
import re
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

import data
from kg.triples.names import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TABLE = "models/networks.csv"
FACTS = ("parameters", "flops_per_sample", "image_size", "activations_per_sample")
_PARTS = re.compile(r"[-_ ]+")
_EDITION = re.compile(r"(for|pytorch|infer|poc|mmlab|mmdet|id\d+|(?=\w*\d)[0-9a-f]{7})", re.IGNORECASE)


def names_without_edition(text: str) -> Iterator[str]:
    """The name as it is, without the organisation before it, and without each ending that names an edition.

    ``Ascend/SENet_ID12_for_PyTorch`` gives itself, then ``SENet_ID12_for_PyTorch`` and so on to ``SENet``.
    """
    yield text
    short = text.rpartition("/")[2]
    if short != text:
        yield short
    parts = _PARTS.split(short)
    while len(parts) > 1 and _EDITION.fullmatch(parts[-1]):
        parts.pop()
        yield "-".join(parts)


def network_facts(name: str) -> Mapping[str, float | str]:
    """Facts of a network and ``operations_source``, the page that states them; empty if there are none."""
    table = _table()
    return next((table[key] for one in names_without_edition(name) if (key := normalise(one)) in table), {})


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
