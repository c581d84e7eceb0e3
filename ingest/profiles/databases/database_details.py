"""Facts in databases beside tasks: memory by module, sampled bandwidth and other counters.

Memory there is bytes, bandwidth bytes a second, time nanoseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ingest.profiles.databases.databases import BYTES_PER_MB, Database, integer, real
from ingest.profiles.facts.details import Counter, ModuleMemory
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.tables.memory_tables import module_memory

_GB = 1e9
_MB = 1e6
_COUNTERS = (
    ("DDR", "", (("read", "DDR read"), ("write", "DDR write"))),
    ("HCCS", "", (("txThroughput", "HCCS sending"), ("rxThroughput", "HCCS receiving"))),
    ("PCIE", "", (("txPostAvg", "PCIe sending"), ("rxPostAvg", "PCIe receiving"))),
    ("NIC", "funcId", (("bandwidth", "NIC bandwidth"),)),
    ("ROCE", "funcId", (("bandwidth", "RoCE bandwidth"),)),
)
"""Table, column of the port, columns of bandwidth in bytes a second with their names."""


def read_modules(data: Database) -> list[ModuleMemory]:
    """Memory by module, and of the process and the device as a whole."""
    names = {}
    if data.has("ENUM_MODULE", "id", "name"):
        names = {integer(k): str(v) for k, v in data.select("SELECT id, name FROM ENUM_MODULE")}

    def by_module() -> Iterator[tuple[str, str, int, float]]:
        for _, cells in data.rows("NPU_MODULE_MEM"):
            code = integer(cells["moduleId"])
            yield (str(cells.get("deviceId", "")), names.get(code, str(code)), integer(cells["timestampNs"]),
                   real(cells["totalReserved"]) / BYTES_PER_MB)  # fmt: skip

    def as_whole() -> Iterator[tuple[str, str, int, float]]:
        for _, cells in data.rows("NPU_MEM"):
            held = real(cells["hbm"]) + real(cells["ddr"])
            yield (str(cells.get("deviceId", "")), data.text(cells["type"]), integer(cells["timestampNs"]),
                   held / BYTES_PER_MB)  # fmt: skip

    found = []
    if data.has("NPU_MODULE_MEM", "moduleId", "timestampNs", "totalReserved"):
        found += module_memory(by_module(), f"{data.file}#NPU_MODULE_MEM")
    if data.has("NPU_MEM", "type", "hbm", "ddr", "timestampNs"):
        found += module_memory(as_whole(), f"{data.file}#NPU_MEM")
    return found


def read_hbm(data: Database) -> tuple[tuple[int, float], ...]:
    """Bandwidth of device memory in GB/s by time: all channels, reads and writes added."""
    if not data.has("HBM", "timestampNs", "bandwidth"):
        return ()
    rows = data.select(
        "SELECT timestampNs, sum(bandwidth) FROM HBM GROUP BY timestampNs ORDER BY timestampNs"
    )
    samples = ((integer(at), real(rate) / _GB) for at, rate in rows)
    return tuple((at, rate) for at, rate in samples if rate >= 0)


def read_counters(data: Database) -> list[Counter]:
    """Bandwidths by port and hit rates of the last-level cache, averaged."""
    found = []
    for table, port, columns in _COUNTERS:
        for column, name in columns:
            if data.has(table, column):
                key = f'"{port}"' if port and data.has(table, port) else "''"
                device = "deviceId" if data.has(table, "deviceId") else "''"
                sql = f'SELECT {device}, {key}, avg("{column}"), max("{column}") FROM {table} GROUP BY 1, 2'  # noqa: S608
                for on, at, mean, peak in data.select(sql):
                    label = name if key == "''" else f"{name} {at}"
                    found += _counter(data, table, label, str(on), real(mean), real(peak))
    if data.has("LLC", "hitRate", "deviceId"):
        for on, mean, peak in data.select("SELECT deviceId, avg(hitRate), max(hitRate) FROM LLC GROUP BY 1"):
            if not math.isnan(real(mean)):
                found.append(Counter(name="LLC hits", unit="%", mean=real(mean), peak=real(peak),
                                     place=FactPlace(f"{data.file}#LLC"), device=str(on)))  # fmt: skip
    return [*found, *_sampled_cores(data)]


def _sampled_cores(data: Database) -> list[Counter]:
    """Samples of each core, averaged by the profiler."""
    if not data.has("SAMPLE_PMU_SUMMARY", "metric", "value", "coreId", "coreType", "deviceId"):
        return []
    found = []
    for row, cells in data.rows("SAMPLE_PMU_SUMMARY"):
        value = real(cells["value"])
        if not math.isnan(value):
            name = f"{data.text(cells['coreType'])} {cells['coreId']} {data.text(cells['metric'])}"
            found.append(Counter(name=name, unit="1", mean=value, peak=None, device=str(cells["deviceId"]),
                                 place=FactPlace(f"{data.file}#SAMPLE_PMU_SUMMARY", (row,))))  # fmt: skip
    return found


def _counter(data: Database, table: str, name: str, device: str, mean: float, peak: float) -> list[Counter]:
    if math.isnan(mean) or math.isnan(peak):
        return []
    place = FactPlace(f"{data.file}#{table}")
    return [Counter(name=name, unit="MB/s", mean=mean / _MB, peak=peak / _MB, place=place, device=device)]
