"""A load as a trace of requests: arrivals, lengths and shared prefixes become the facts of a question.

One JSON object a line, by the names of Mooncake's traces (``timestamp`` in milliseconds, ``input_length``,
``output_length``, ``hash_ids``; https://github.com/kvcache-ai/Mooncake) or by plain ones (``arrival_s``,
``input_len``, ``output_len``, ``latency_s``).
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from ingest.questions.launches.launch_facts import LaunchFacts
from kg.atomic_files import read_text
from kg.errors import CaseFormatError, Fault, InputError
from kg.nouns.situation import FactOrigin
from kg.nouns.values import load_json

MOST_BYTES = 256 << 20
"""Larger files are no trace that a question needs; a choice."""
_MOST_FAULTS = 5
_NAMES: Mapping[str, tuple[tuple[str, float], ...]] = {
    "arrival": (("timestamp", 1e-3), ("timestamp_ms", 1e-3), ("arrival_s", 1.0), ("arrival", 1.0)),
    "input": (("input_length", 1.0), ("input_len", 1.0), ("prompt_tokens", 1.0), ("input_tokens", 1.0)),
    "output": (
        ("output_length", 1.0),
        ("output_len", 1.0),
        ("completion_tokens", 1.0),
        ("output_tokens", 1.0),
    ),
    "latency": (("latency_s", 1.0), ("latency", 1.0), ("duration_s", 1.0)),
}
"""Names of a field with the factor to seconds or tokens."""


def read_trace(path: Path) -> LaunchFacts:
    """The load in a trace: mean lengths, the longest request, requests a second, shared prefixes.

    Raises:
        InputError: It cannot be read, or has no request.
        CaseFormatError: Lines of it are no requests.
    """
    rows = _rows(path)
    inputs, outputs = (_column(rows, name) for name in ("input", "output"))
    shape: dict[str, object] = {
        "input_len": max(1, round(sum(inputs) / len(inputs))),
        "output_len": max(1, round(sum(outputs) / len(outputs))),
        "seq_len": round(max(one + other for one, other in zip(inputs, outputs, strict=True))),
    }
    traits: dict[str, object] = {}
    arrivals, latencies = _column(rows, "arrival"), _column(rows, "latency")
    span = max(arrivals) - min(arrivals) if arrivals else 0.0
    if span > 0:
        traits["request_rate"] = float(f"{(len(arrivals) - 1) / span:.4g}")
        if len(latencies) == len(rows):  # Little's law
            traits["concurrency"] = max(1, round(sum(latencies) / span))
    if (shared := _shared(rows)) is not None:
        traits["shared_prefix_share"] = shared
    notes = (f"{path.name}: {len(rows):,} requests, means of their lengths",)
    return LaunchFacts(question={"shape": shape, "traits": traits}, notes=notes, origin=FactOrigin.MEASURED)


def read_requests(path: Path) -> list[tuple[float, int, int]]:
    """The requests of a trace by arrival: the moment in seconds, and the tokens in and out.

    Raises:
        InputError: It cannot be read, or does not say when each request arrives.
        CaseFormatError: Lines of it are no requests.
    """
    rows = _rows(path)
    arrivals, inputs, outputs = (_column(rows, name) for name in ("arrival", "input", "output"))
    if len(arrivals) != len(rows):
        raise InputError(f"{path}: not every request says when it arrives", hint="timestamp, or arrival_s")
    return sorted(
        (moment, max(1, round(one)), max(1, round(other)))
        for moment, one, other in zip(arrivals, inputs, outputs, strict=True)
    )


def _rows(path: Path) -> list[Mapping[str, object]]:
    rows: list[Mapping[str, object]] = []
    faults: list[Fault] = []
    for place, line in enumerate(read_text(path, MOST_BYTES).splitlines(), 1):
        if not line.strip():
            continue
        row = _row(line)
        if isinstance(row, str):
            faults.append(Fault(place=f"line {place}", reason=row))
        else:
            rows.append(row)
        if len(faults) >= _MOST_FAULTS:
            break
    if faults:
        raise CaseFormatError(str(path), faults, hint='a line is {"input_length": 512, "output_length": 64}')
    if not rows:
        raise InputError(
            f"{path}: no request in it", hint='a line is {"input_length": 512, "output_length": 64}'
        )
    return rows


def _row(line: str) -> Mapping[str, object] | str:
    """A request, or what is wrong with the line."""
    try:
        row = load_json(line)
    except ValueError:
        return "no JSON"
    if not isinstance(row, dict):
        return "no object"
    for name in ("input", "output"):
        value = _value(row, name)
        if value is None or not (math.isfinite(value) and value >= 0):
            return f"no {name} length: one of {', '.join(key for key, _ in _NAMES[name])}"
    return row


def _value(row: Mapping[str, object], name: str) -> float | None:
    for key, factor in _NAMES[name]:
        value = row.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value) * factor
    return None


def _column(rows: Sequence[Mapping[str, object]], name: str) -> list[float]:
    values = (_value(row, name) for row in rows)
    return [value for value in values if value is not None and math.isfinite(value)]


def _shared(rows: Sequence[Mapping[str, object]]) -> float | None:
    """Share of the blocks of prompts that an earlier request had; None where no blocks are named."""
    seen: set[object] = set()
    blocks = shared = 0
    for row in rows:
        names = row.get("hash_ids")
        for name in names if isinstance(names, list) else ():
            blocks += 1
            shared += name in seen
            seen.add(name)
    return round(shared / blocks, 4) if blocks else None
