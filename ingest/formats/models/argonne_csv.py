"""Result tables of Argonne's LLM-Inference-Bench: end-to-end inference by hardware, framework and batch.

Throughput is the metric; it counts input and output tokens over the latency beside it, which therefore says
nothing more. The power tables add a mean power, in mW though they do not say so.
"""

import re
from collections.abc import Iterator, Mapping

from ingest.door.records import Records
from ingest.door.values import parse_value
from ingest.files.content import Content, ContentError
from ingest.files.csv_rows import csv_rows, header_of
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import case_or_fault, parse_number
from kg.errors import Fault
from kg.nouns.entities import Case

_COLUMNS = {
    *("Hardware", "Num of Hardware", "Framework", "Model", "Input Output Length", "Batch Size", "Throughput"),
}
_PARALLELISMS = {
    "TP": "Tensor Parallelism",
    "PP": "Pipeline Parallelism",
    "EP": "Expert Parallelism",
}
_HYBRID = re.compile(r"\b(Tensor|Pipeline|Expert|TP|PP|EP)\b[\s=(]*(\d+)")
_SHORT = {"Tensor": "TP", "Pipeline": "PP", "Expert": "EP"}
_CARDS = {"Intel PVC GPU": "Intel Max 1550 (PVC)", "Intel Max 1550": "Intel Max 1550 (PVC)"}
"""One card under two names (its own README)."""
_MILLIWATTS_ABOVE = 5000
"""A mean power above it is in mW: no node of these tables draws 5 kW, no device less than 5 W."""


def sniff(head: Head) -> bool:
    """True if it has the table's columns."""
    return set(header_of(head.text)) >= _COLUMNS


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each throughput, and one for each mean power."""
    source = {"title": "Argonne LLM-Inference-Bench", "path": content.reference}
    for place, row in csv_rows(content):
        if isinstance(row, Fault):
            yield row
            continue
        try:
            record = _record(row, records) | {"source": source}
            yield case_or_fault(records, place, record | {"outcome": _throughput(row)})
            if row.get("avg_power"):
                yield case_or_fault(records, place, record | {"outcome": _power(row["avg_power"], records)})
        except ContentError as fault:
            yield Fault(place=place, reason=str(fault))


def _record(row: Mapping[str, str], records: Records) -> dict[str, object]:
    length = parse_value(row["Input Output Length"])
    config: dict[str, object] = {
        "framework": row["Framework"],
        "num_devices": parse_value(row["Num of Hardware"]),
        "batch_size": parse_value(row["Batch Size"]),
    }
    if kind := row.get("Parallelism Type"):
        config["parallelism"] = _parallelism(kind, records)
    reported = row["Hardware"]
    return {
        "task": {
            "kind": "serving",
            "op": "llm_generate",
            "model": row["Model"],
            "shape": {"input_len": length, "output_len": length},
        },
        "hardware": {
            "name": _CARDS.get(reported, reported.removesuffix(" GPU")),
            "reported_name": reported,
        },
        "config": config,
    }


def _throughput(row: Mapping[str, str]) -> dict[str, object]:
    cell = row["Throughput"]
    if not cell:
        return {"metric": "throughput", "unit": "tokens/s", "value": None, "status": "not_reported"}
    latency = parse_value(row.get("Latency") or "")
    return {
        "metric": "throughput",
        "unit": "tokens/s",
        "value": parse_number(cell, "Throughput"),
        "status": "ok",
        **({"latency_s": latency} if isinstance(latency, int | float) else {}),
    }


def _power(cell: str, records: Records) -> dict[str, object]:
    value = parse_number(cell, "avg_power")
    symbol = "mW" if value > _MILLIWATTS_ABOVE else "W"
    records.guess(f"avg_power names no unit; taken as {symbol} by its size")
    return {"metric": "power", "unit": symbol, "value": value, "status": "ok"}


def _parallelism(text: str, records: Records) -> str:
    known = _PARALLELISMS.get(text)
    if known is None and text.lower().startswith(("hybird", "hybrid")):
        parts = [f"{_SHORT.get(kind, kind)} = {size}" for kind, size in _HYBRID.findall(text)]
        known = f"Hybrid {' and '.join(parts)}" if parts else None
    if known is None or known == text:
        return text
    records.guess(f"parallelism {text!r} is read as {known!r}")
    return known


FORMAT = Format(
    name="argonne",
    title="Argonne LLM-Inference-Bench table (CSV)",
    sniff=sniff,
    read=read,
)
