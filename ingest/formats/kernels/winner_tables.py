"""Common parts of tables of tuned kernels that name the winner for each size, without its time."""

import re
from collections.abc import Iterator, Mapping

from ingest.door.records import RecordError, Records
from ingest.files.content import Content, ContentError
from ingest.files.documents import load_json
from kg.errors import Fault
from kg.nouns.entities import Case

_SIZE = re.compile(r"[1-9]\d{0,17}")
_COMMA = re.compile(r",(?![^\[]{0,500}\])")
"""A comma that is not inside brackets: ``block_shape=[128, 128]`` is one fact."""

MAXIMUM_LEVELS = 4
"""Size keys inside each other; LightLLM has one or two."""


def facts_in(text: str) -> dict[str, str]:
    """Facts such as ``N=1024,K=2048,block_shape=[128, 128]`` by name."""
    pairs = (fact.partition("=") for fact in _COMMA.split(text))
    return {name.strip(): value.strip() for name, _, value in pairs}


def load_table(content: Content) -> dict[str, object] | Fault:
    """The table in a file."""
    try:
        table = load_json(content)
    except ContentError as fault:
        return Fault(place="", reason=str(fault))
    if isinstance(table, dict):
        return table
    return Fault(place="", reason="expected an object from sizes to configurations")


def entries(
    table: Mapping[str, object], *, levels: int, sizes: tuple[int, ...] = ()
) -> Iterator[tuple[tuple[int, ...], dict[str, object]] | Fault]:
    """Sizes and configuration of each entry, from the outer to the inner key.

    Args:
        table: Size to configuration, or to a further table.
        levels: How many size keys an entry may have.
        sizes: Those already passed.
    """
    for key, item in table.items():
        place = "/".join([*map(str, sizes), key[:40]])
        if _SIZE.fullmatch(key) is None:
            yield Fault(place=f"key {place!r}", reason="no size")
        elif not isinstance(item, dict):
            yield Fault(place=f"key {place!r}", reason="no configuration")
        elif not item:
            yield Fault(place=f"key {place!r}", reason="an empty configuration")
        elif not all(isinstance(value, dict) for value in item.values()):
            yield (*sizes, int(key)), item
        elif levels > 1:
            yield from entries(item, levels=levels - 1, sizes=(*sizes, int(key)))
        else:
            yield Fault(place=f"key {place!r}", reason="a table where a configuration is expected")


def winner(
    records: Records,
    sizes: tuple[int, ...],
    *,
    task: Mapping[str, object],
    device: str,
    config: Mapping[str, object],
    source: Mapping[str, object],
) -> Case | Fault:
    """The case of one entry."""
    record = {
        "task": dict(task),
        "hardware": {"name": device},
        "config": dict(config),
        "outcome": {"metric": "latency", "unit": "us", "value": None, "status": "winner_untimed"},
        "source": dict(source),
    }
    try:
        return records.case(record)
    except RecordError as fault:
        return Fault(place=f"key {'/'.join(map(str, sizes))!r}", reason=str(fault))
