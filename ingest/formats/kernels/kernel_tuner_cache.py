"""Kernel Tuner cache files: a header and every configuration tried, with its times in milliseconds.

A failure is text in the number field. An interrupted run leaves a trailing comma
and no closing braces.
"""

from collections.abc import Iterator

from ingest.door.records import Records
from ingest.files.content import Content, ContentError
from ingest.files.json_stream import JsonStream, UnfinishedError
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.kernels.kernel_tuner import Space, is_storable, single_choices, space_of
from kg.errors import Fault
from kg.nouns.entities import Case


def sniff(head: Head) -> bool:
    """True if the header lists the tuned parameters."""
    return head.text.lstrip().startswith("{") and '"tune_params_keys"' in head.text


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each configuration and metric."""
    stream = JsonStream(content)
    header: dict[str, object] = {}
    try:
        for name in stream.members():
            if name == "cache":
                yield from _rows(stream, header, content, records)
                return
            header[name] = stream.value()
    except ContentError as fault:
        yield Fault(place="header", reason=str(fault))
        return
    yield Fault(place="", reason="no member named cache")


def _rows(
    stream: JsonStream, header: dict[str, object], content: Content, records: Records
) -> Iterator[Case | Fault]:
    keys = header.get("tune_params_keys")
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        yield Fault(place="tune_params_keys", reason="not a list of names")
        return
    space = space_of(
        content,
        records,
        kernel=_text(header, "kernel_name"),
        device=_text(header, "device_name"),
        problem_size=header.get("problem_size") if is_storable(header.get("problem_size")) else None,
    )
    space.fixed = space.fixed | single_choices(header.get("tune_params"))
    members = stream.members()
    row = ""
    while True:
        try:
            for row in members:
                yield from _row(stream.value(), row, keys, space, records)
        except UnfinishedError:
            records.guess(
                "the file is unfinished: it breaks off before its closing braces; the rows before are whole"
            )
            return
        except ContentError as fault:
            yield Fault(place=f"cache/{row[:80]}" if row else "cache", reason=str(fault))
            if not stream.next_member():
                return
            members = stream.resume()
        else:
            return


def _row(entry: object, row: str, keys: list[str], space: Space, records: Records) -> Iterator[Case | Fault]:
    place = f"cache/{row[:80]}"
    if not isinstance(entry, dict):
        yield Fault(place=place, reason="not an object")
        return
    missing = [key for key in keys if key not in entry]
    if missing:
        yield Fault(place=place, reason=f"without a value of {', '.join(missing)}"[:200])
        return
    yield from space.cases({key: entry[key] for key in keys}, entry, place, records)


def _text(header: dict[str, object], name: str) -> str:
    value = header.get(name)
    return value.strip() if isinstance(value, str) else ""


FORMAT = Format(
    name="kernel-tuner-cache",
    title="Kernel Tuner cache (tune_params_keys and cache)",
    sniff=sniff,
    read=read,
)
