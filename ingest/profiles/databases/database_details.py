"""Memory by module in databases, in bytes there, with time in nanoseconds."""

from collections.abc import Iterator

from ingest.profiles.databases.databases import BYTES_PER_MB, Database, integer, real
from ingest.profiles.facts.details import ModuleMemory
from ingest.profiles.tables.memory_tables import module_memory


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
