"""Recipe JSONL: one recipe a line (docs/formats.md), plain or gzip."""

from collections.abc import Iterable, Iterator

from ingest.door.records import RecordError, Records
from ingest.files.content import Content
from ingest.files.json_lines import json_lines
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.recipes.recipe_records import recipe, to_record
from kg.errors import Fault
from kg.nouns.recipe import Recipe
from kg.nouns.values import canonical_json

_KEYS = ('"settings"', '"framework"', '"devices"', '"model"')


def sniff(head: Head) -> bool:
    """True if a line begins an object that has the keys of a recipe."""
    return any(
        line.lstrip().startswith("{") and all(key in line for key in _KEYS) for line in head.text.splitlines()
    )


def read(content: Content, records: Records) -> Iterator[Recipe | Fault]:
    """The recipe of each line, or the faults of it; one id says one thing in a file."""
    seen: dict[str, tuple[str, Recipe]] = {}
    for place, record in json_lines(content):
        try:
            item = record if isinstance(record, Fault) else recipe(record, records)
        except RecordError as fault:
            item = Fault(place=place, reason=str(fault))
        if not isinstance(item, Fault):
            first, earlier = seen.setdefault(item.id, (place, item))
            if earlier != item:
                item = Fault(place=place, reason=f"id: {item.id} says something else on {first}")
        yield item


def write(recipes: Iterable[Recipe]) -> Iterator[str]:
    """A line of JSON for each recipe, with its line end; equal recipes give equal lines."""
    for item in recipes:
        yield canonical_json(to_record(item)) + "\n"


FORMAT = Format(
    name="recipes",
    title="recipe JSONL (docs/formats.md)",
    sniff=sniff,
    read=read,
)
