"""Names, real files and cases of a kernel, for readers."""

import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.door.records import NameResolver, Records
from ingest.reading import FileReport
from kg.errors import UnknownEntityError
from kg.nouns.entities import Case
from kg.triples.names import ResolvedModel
from tests.samples.readings import ingest


class PlainNames:
    """Knows a few devices and one model; stands where the graph's names stand in a workspace."""

    def __init__(self) -> None:
        self.devices = {
            "a100": "nvidia-a100",
            "a100pcie40gb": "a100-pcie",
            "nvidiaa100": "nvidia-a100",
            "nvidiaa100pcie40gb": "nvidia-a100",
            "rtx2080ti": "rtx-2080-ti",
            "nvidiageforcertx2080ti": "rtx-2080-ti",
            "ascend910c": "ascend-910c",
        }

    def hardware_or_slug(self, text: str) -> tuple[str, bool]:
        key = "".join(letter for letter in text.lower() if letter.isalnum())
        return self.devices.get(key, key), key in self.devices

    def model(self, text: str) -> ResolvedModel:
        if text == "BERT Large":
            return ResolvedModel(id="bert-large")
        raise UnknownEntityError(text)


@pytest.fixture
def names() -> PlainNames:
    return PlainNames()


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real files, where they are at hand."""
    default = Path(__file__).parents[4] / "shared"
    folder = Path(os.environ.get("TUNEGRAPH_SHARED", default)) / "data"
    if not (folder / "cases").is_dir():
        pytest.skip(f"no real files: {folder} is not there (TUNEGRAPH_SHARED names their folder)")
    return folder


@pytest.fixture
def read_file(names: PlainNames) -> Callable[[Path], tuple[list[Case], FileReport]]:
    """Reads one file: its cases and the report on it."""

    def read_one(path: Path) -> tuple[list[Case], FileReport]:
        return ingest(names, path)

    return read_one


@pytest.fixture
def kernel_cases(names: NameResolver) -> list[Case]:
    """36 configurations of a kernel, of which some failed in each of the ways that are told apart."""
    failures = {
        (1, 64): "forbidden:constraints",
        (2, 64): "failed:compile",
        (4, 64): "failed:RuntimeFailedConfig",
        (8, 64): "timed_out",
        (8, 32): "oom",
    }
    cases = []
    for tile in (1, 2, 4, 8):
        for block in (16, 32, 64):
            for mode in ("a", "b", True):
                status = failures.get((tile, block), "ok")
                time = (
                    None
                    if status != "ok"
                    else 1e-3 * (1 + abs(math.log2(tile / 4)) + block / 64 + (mode == "b"))
                )
                record: dict[str, object] = {
                    "task": {"kind": "kernel", "op": "gemm", "shape": {"M": 4096, "N": 64}, "dtype": "fp16"},
                    "hardware": {"name": "NVIDIA A100"},
                    "config": {"tile": tile, "block": block, "mode": mode},
                    "outcome": {"metric": "kernel_time", "unit": "s", "value": time, "status": status},
                    "source": {"title": "test"},
                }
                cases.append(Records(names).case(record))
    return cases
