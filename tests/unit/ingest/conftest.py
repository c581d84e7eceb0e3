import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.reading import FileReport, read
from kg.errors import UnknownEntityError
from kg.nouns.entities import Case
from kg.triples.names import ResolvedModel


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
        *cases, report = read([path], names)
        assert isinstance(report, FileReport)
        return [case for case in cases if isinstance(case, Case)], report

    return read_one
