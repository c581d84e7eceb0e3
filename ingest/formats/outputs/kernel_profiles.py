"""Kernels measured by Triton's profiler Proton, and those in CANN's repositories of tilings.

A ``.hatchet`` file of Proton is a tree of scopes; each kernel in it has the sum of its times and their count.
A repository of tilings (``SOC_CORES_AiCore_OP_runtime_kb.json``, made by the tuner AOE or shipped) has a
problem and its chosen tiling on each line, without a time; chip and cores are in the file's name.

Source:
    Triton 3.6, ``third_party/proton/test/examples``.
    CANN 8, ``opp/built-in/data/op/SOC/unified_bank``; hicann/ops-nn, ``runtime_kb_api.h``.
"""

import re
from collections.abc import Iterator

from ingest.door.records import Records
from ingest.files.content import Content, ContentError
from ingest.files.documents import load_json
from ingest.files.json_lines import json_lines
from ingest.files.sniffing import Head, read_head
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import NO_HARDWARE, case_or_fault
from kg.errors import Fault
from kg.nouns.entities import Case

_TIME = "time (ns)"
_BANK = re.compile(r"(?P<chip>Ascend\w+?)_(?P<cores>\d+)_AiCore_(?P<op>\w+)_runtime_kb\.json")
_DEEPEST = 200


def sniff(head: Head) -> bool:
    """True if it is a tree of Proton, or a repository of tilings."""
    return ('"frame"' in head.text and f'"{_TIME}"' in head.text) or (
        '"info_dict"' in head.text and '"knowledge"' in head.text
    )


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each kernel of a tree, or for each line of a repository."""
    try:
        if read_head(content.path).text.lstrip().startswith("{"):
            yield from _tilings(content, records)
        else:
            yield from _kernels(load_json(content), content, records)
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))


def _kernels(document: object, content: Content, records: Records) -> Iterator[Case | Fault]:
    if not records.context.hardware:
        yield Fault(place="", reason=NO_HARDWARE)
        return
    roots = document if isinstance(document, list) else [document]
    waiting: list[tuple[object, tuple[str, ...]]] = [(root, ()) for root in reversed(roots)]
    while waiting:
        node, scopes = waiting.pop()
        if not isinstance(node, dict) or not isinstance(node.get("frame"), dict) or len(scopes) > _DEEPEST:
            continue
        name, metrics = str(node["frame"].get("name", "")), node.get("metrics")
        children = node.get("children")
        inside = (*scopes, name)
        waiting += [(one, inside) for one in reversed(children if isinstance(children, list) else [])]
        if not isinstance(metrics, dict) or children:
            continue
        time, count = metrics.get(_TIME), metrics.get("count")
        if not isinstance(time, int | float) or not isinstance(count, int | float) or count <= 0:
            continue
        work = {
            key: value / count
            for key, value in metrics.items()
            if key.startswith(("flops", "bytes")) and isinstance(value, int | float) and value
        }
        place, scope = "/".join(inside), {"scope": "/".join(scopes[1:])}
        yield case_or_fault(
            records,
            place,
            {
                "task": {
                    "kind": "kernel",
                    "op": name,
                    "shape": work,
                    "traits": scope,
                },
                "hardware": {"name": records.context.hardware},
                "config": {},
                "outcome": {
                    "metric": "kernel_time",
                    "unit": "us",
                    "value": time / count / 1e3,
                    "n": int(count),
                    "status": "ok",
                },
                "source": {"title": "Proton", "path": content.reference},
            },
        )


def _tilings(content: Content, records: Records) -> Iterator[Case | Fault]:
    named = _BANK.fullmatch(content.path.name)
    hardware = records.context.hardware or (named["chip"] if named is not None else "")
    if not hardware:
        yield Fault(place="", reason=NO_HARDWARE)
        return
    for place, line in json_lines(content):
        if isinstance(line, Fault):
            yield line
            continue
        about, chosen = (
            (line.get("info_dict"), line.get("knowledge")) if isinstance(line, dict) else (None, None)
        )
        if not isinstance(line, dict) or not isinstance(about, dict) or not isinstance(chosen, dict):
            yield Fault(place=place, reason="expected a problem (info_dict) and its tiling (knowledge)")
            continue
        operator = line.get("op") or (named["op"] if named is not None else "")
        cores = {} if named is None else {"cores": int(named["cores"])}
        yield case_or_fault(
            records,
            place,
            {
                "task": {"kind": "kernel", "op": operator, "shape": about},
                "hardware": {"name": hardware} | cores,
                "config": chosen,
                "outcome": {"metric": "kernel_time", "unit": "us", "value": None, "status": "winner_untimed"},
                "source": {"title": "tiling repository of CANN", "path": content.reference},
            },
        )


FORMAT = Format(
    name="kernel-profiles",
    title="Proton (.hatchet), tiling repositories of CANN and AOE (runtime_kb.json)",
    sniff=sniff,
    read=read,
)
