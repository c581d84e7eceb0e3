"""Facts of the shipped knowledge, drawn by a seed with the address of each, for a reader who opens them.

    python -m tools.audit_facts [--number 150] [--seed 20261126] > facts.csv

A fact is whatever ships with a source of its own. Each kind has its share of the draw by the square root of
how many there are. The last column is the reader's: right, wrong, unsupported or not openable.
"""

import csv
import json
import math
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import data
from benchmarks.harness import option, parse
from ingest.knowledge.files import read_knowledge
from kg.nouns.entities import Source
from kg.terms.setting_registry import registry, softwares
from recommender.store.shipped_knowledge import recipes

Row = tuple[str, str, str, str]  # kind, subject, what is stated, address


def main() -> None:
    """Print the draw as CSV."""
    given = parse(
        __doc__,
        option("--number", type=int, default=150, help="facts to draw"),
        option("--seed", type=int, default=20261126, help="of the draw"),
    )
    heading = ("kind", "subject", "states", "address", "verdict")
    csv.writer(sys.stdout).writerows([heading, *((*row, "") for row in draw(given.number, given.seed))])


def draw(number: int, seed: int) -> list[Row]:
    """Facts at random, each kind by the square root of its size."""
    kinds: dict[str, list[Row]] = defaultdict(list)
    for row in every_fact():
        kinds[row[0]].append(row)
    whole = sum(math.sqrt(len(rows)) for rows in kinds.values())
    chance = random.Random(seed)
    drawn: list[Row] = []
    for rows in kinds.values():
        drawn += chance.sample(rows, min(math.ceil(number * math.sqrt(len(rows)) / whole), len(rows)))
    return sorted(chance.sample(drawn, min(number, len(drawn))))


def every_fact() -> Iterator[Row]:
    """Every sourced statement that ships, in the order of the files."""
    for name in (
        file for folder in ("hardware", "models", "knowledge") for file in data.files(folder, ".yaml")
    ):
        for noun in read_knowledge(data.text(name), name):
            yield from _sourced(noun, str(getattr(noun, "id", noun)))
    for case in map(json.loads, data.text("cases/effects.jsonl").splitlines()):
        yield "Effect", case["strategy"], str((case["outcome"], case["config"])), case["source"]["url"]
    for recipe in recipes():
        states = ", ".join(f"{item.key}={item.value}" for item in recipe.settings[:8])
        yield "Recipe", f"{recipe.reported_model} on {recipe.reported_hardware}", states, recipe.source.url
    for known in (one for name in softwares() if (one := registry(name)).software == name):
        for item in known.settings:
            before = known.releases.index(item.removed) if item.removed else len(known.releases)
            states = f"{item.place}, {item.takes}, default {item.default_text(known.releases[before - 1])}"
            yield "Setting", f"{item.software} {item.since} to {item.removed} {item.key}", states, item.source


def _sourced(item: object, subject: str) -> Iterator[Row]:
    """Rows of the parts inside a noun that have sources of their own."""
    parts = {one.name: getattr(item, one.name) for one in fields(item)} if is_dataclass(item) else {}
    if isinstance(source := parts.pop("source", None), Source):
        states = ", ".join(f"{name} {value}" for name, value in parts.items() if value not in ("", None, ()))
        yield type(item).__name__, subject, states, source.url or source.title
    for value in parts.values():
        for inner in value if isinstance(value, tuple | list) else ():
            yield from _sourced(inner, subject)


if __name__ == "__main__":
    main()
