"""The output of ``npu-smi info`` and ``nvidia-smi``: devices, their number, and the driver."""

import csv
import re
from collections import Counter
from dataclasses import dataclass

from ingest.questions.launches.launch_facts import LaunchFacts
from kg.errors import InputError
from kg.nouns.situation import FactOrigin

_NPU_DEVICE = re.compile(r"^\|\s*(\d+)\s+([A-Za-z]*\d{3}[\w-]*)\s*\|\s*(\w+)\s*\|")
_NPU_CHIP = re.compile(r"^\|\s*(\d+)(?:\s+(\d+))?\s*\|\s*(?:NA|[0-9A-Fa-f]{4}:[0-9A-Fa-f:.]+)\s*\|(.*)\|\s*$")
_USED_OF = re.compile(r"(?<!\d)(\d++)\s*+/\s*+(\d++)")
_NPU_VERSION = re.compile(r"npu-smi\s+([\w.]+)\s+Version:\s*([\w.]+)", re.IGNORECASE)
_GPU_DEVICE = re.compile(
    r"^\|\s*(\d+)\s+(\S(?:.*?\S)??)\s{2,}+(?:On|Off|N/A)?\s*+\|\s*+[0-9A-Fa-f]{8}:", re.IGNORECASE
)
_GPU_MEMORY = re.compile(r"(?<!\d)(\d++)\s*+MiB\s*+/\s*+(\d++)\s*+MiB")
_GPU_LISTED = re.compile(r"^GPU\s+(\d+):\s*+(\S(?:.*\S)?)\s*\(UUID:")
_GPU_DRIVER = re.compile(r"Driver Version\s*:\s*([\d.]+)")
_GPU_CUDA = re.compile(r"CUDA Version\s*:\s*([\d.]+)")
_PRODUCT = re.compile(r"^[^\S\n]*+Product Name[^\S\n]*+:[^\S\n]*+(\S(?:.*\S)?)", re.MULTILINE)
_TOTAL = re.compile(
    r"FB Memory Usage[^\S\n]*+\n(?:.*+\n){0,9}?[^\S\n]*+Total[^\S\n]*+:[^\S\n]*+(\d++)\s*+MiB"
)

MEGABYTE = 2**20
BUSY = 0.2
"""Share of its memory in use above which a device is said to be busy: an idle one holds 3.2 to 4.4 of 64 GB
for the driver (npu-smi outputs in the documents of vllm-ascend)."""

ASCEND_BINS = re.compile(r"(?:Ascend)?910$", re.IGNORECASE)
"""Name that npu-smi gives both the 910 of 2019 and the dies of an A3 server."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """One device in the output; memory in bytes, None where it is not shown."""

    name: str
    used_bytes: int | None = None
    total_bytes: int | None = None


def read_smi(text: str, place: str) -> LaunchFacts:
    """The facts in the output of the tool: hardware, count and driver.

    Raises:
        InputError: It is none of the known outputs, or shows devices of different kinds.
    """
    software: dict[str, object] = {}
    if (version := _NPU_VERSION.search(text)) is not None:
        software["npu-driver"] = version[2]
        seen = _npu(text)
    else:
        seen = _nvidia_table(text) or _nvidia_full(text) or _nvidia_list(text) or _nvidia_csv(text)
        if not seen and _NPU_DEVICE.search(text):
            seen = _npu(text)
        for name, pattern in (("nvidia-driver", _GPU_DRIVER), ("cuda", _GPU_CUDA)):
            if (found := pattern.search(text)) is not None:
                software[name] = found[1]
    if not seen:
        raise InputError(
            f"{place}: shows no device",
            hint="expected what npu-smi info, nvidia-smi, nvidia-smi -q or nvidia-smi --query-gpu=name "
            "--format=csv prints",
        )
    return _told(seen, software, place)


def _told(seen: list[_Seen], software: dict[str, object], place: str) -> LaunchFacts:
    names = Counter(one.name for one in seen)
    if len(names) > 1:
        listed = ", ".join(f"{count} x {name}" for name, count in names.items())
        raise InputError(
            f"{place}: shows different devices: {listed}", hint="choose with --hardware and --count"
        )
    [name] = names
    notes: list[str] = []
    question: dict[str, object] = {"count": len(seen)}
    total = next((one.total_bytes for one in seen if one.total_bytes), None)
    if name.endswith("..."):
        notes.append(f"{place}: could not be read: the name {name!r} is cut; nvidia-smi -L shows it whole")
    elif ASCEND_BINS.match(name) and total is not None and total > 40e9:
        notes.append(
            f"{place}: could not be read: {name!r} with {total / 2**30:.0f} GiB is no 910A; dies of an A3 "
            "are shown so: say --hardware ascend-910c"
        )
    else:
        question["hardware"] = name
    if software:
        question["software"] = software
    busy = [
        one for one in seen if one.used_bytes and one.total_bytes and one.used_bytes > BUSY * one.total_bytes
    ]
    if busy:
        notes.append(
            f"{place}: {len(busy)} of {len(seen)} devices have memory in use: measurements are disturbed"
        )
    return LaunchFacts(question=question, notes=tuple(notes), origin=FactOrigin.FILE)


def _npu(text: str) -> list[_Seen]:
    """Two lines a device: name and health, then a line for each chip with its memory."""
    seen: list[_Seen] = []
    name = ""
    for line in text.splitlines():
        if (chip := _NPU_CHIP.match(line)) is not None and name:
            pairs = [(int(a), int(b)) for a, b in _USED_OF.findall(chip[3]) if int(b)]
            used, total = pairs[-1] if pairs else (None, None)  # the last pair is HBM, where there is any
            seen.append(
                _Seen(
                    name if not name[0].isdigit() else f"Ascend {name}",
                    None if used is None else used * MEGABYTE,
                    None if total is None else total * MEGABYTE,
                )
            )
        elif (device := _NPU_DEVICE.match(line)) is not None:
            name = device[2]
    return seen


def _nvidia_table(text: str) -> list[_Seen]:
    seen: list[_Seen] = []
    for line in text.splitlines():
        if (device := _GPU_DEVICE.match(line)) is not None:
            seen.append(_Seen(device[2]))
        elif seen and seen[-1].total_bytes is None and (memory := _GPU_MEMORY.search(line)) is not None:
            seen[-1] = _Seen(seen[-1].name, int(memory[1]) * MEGABYTE, int(memory[2]) * MEGABYTE)
    return seen


def _nvidia_full(text: str) -> list[_Seen]:
    names = _PRODUCT.findall(text)
    totals = [int(found) * MEGABYTE for found in _TOTAL.findall(text)]
    if len(totals) != len(names):
        totals = []
    return [_Seen(name, None, totals[at] if totals else None) for at, name in enumerate(names)]


def _nvidia_list(text: str) -> list[_Seen]:
    return [_Seen(found[2]) for line in text.splitlines() if (found := _GPU_LISTED.match(line.strip()))]


def _nvidia_csv(text: str) -> list[_Seen]:
    """A line a device; the column of names is headed ``name``, or is the one with a device's name."""
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(text.strip().splitlines()) if row]
    except csv.Error:
        rows = []
    if not rows:
        return []
    head = [cell.lower() for cell in rows[0]]
    if "name" in head or "gpu_name" in head:
        column = head.index("name") if "name" in head else head.index("gpu_name")
        rows = rows[1:]
    else:
        device = re.compile(r"(NVIDIA|Tesla|Quadro|GeForce|RTX|GTX) \S", re.IGNORECASE)
        column = next((at for at, cell in enumerate(rows[0]) if device.match(cell)), -1)
        if column < 0:
            return []
    memory = next((at for at, cell in enumerate(head) if cell.startswith("memory.total")), None)
    seen = []
    for row in rows:
        if len(row) <= column or not row[column]:
            continue
        total = re.match(r"\d+", row[memory]) if memory is not None and memory < len(row) else None
        seen.append(_Seen(row[column], None, int(total[0]) * MEGABYTE if total else None))
    return seen
