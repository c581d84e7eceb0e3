"""Each folder of sample files gives as many cases as its files imply, counted without the readers."""

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingest.door.records import NameResolver
from ingest.reading import FileReport, read
from tests.samples.readings import ingest_all


def content(path: Path) -> Any:
    raw = path.read_bytes()
    return json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)


def sizes(path: Path) -> int:
    """Sizes of a table of winners; the version of Triton among them is none."""
    return sum(key.isdecimal() for key in content(path))


def results(path: Path) -> int:
    return len(content(path)["results"])


def csv_lines(path: Path) -> int:
    """Rows of a table below its header."""
    with path.open(newline="", encoding="utf-8") as stream:
        return sum(any(row) for row in csv.reader(stream)) - 1


def log_lines(path: Path) -> int:
    lines = path.read_text(encoding="utf-8").splitlines()
    return sum(bool(line.strip()) and not line.startswith("#") for line in lines)


def evaluations(path: Path) -> int:
    """Evaluations of a GPTune database, once for each objective."""
    return sum(len(item["evaluation_result"]) for item in content(path)["func_eval"])


def nested(path: Path) -> int:
    """Configurations below one or two levels of sizes."""

    def count(item: Any) -> int:
        deeper = [value for key, value in item.items() if key.isdecimal() and isinstance(value, dict)]
        return sum(map(count, deeper)) if deeper else 1

    return count(content(path))


@pytest.mark.parametrize(
    ("folder", "pattern", "implied"),
    [
        ("vllm_fused_moe", "*.json", sizes),
        ("sglang_fused_moe", "*.json", sizes),
        ("vllm_block_fp8_gemm", "*.json", sizes),
        ("vllm_mamba_ssu", "*.json", sizes),
        ("lightllm_autotune", "*.json", nested),
        ("kernel_tuner_t4", "*.json.gz", results),
        ("gptune_db", "*.json*", evaluations),
        ("tvm_autotvm_log", "*.log", log_lines),
        ("aiter_csv", "*.csv", csv_lines),
        ("nemo_recommended_configs", "*.csv", csv_lines),
    ],
)
def test_as_many_cases_as_the_files_imply(
    folder: str, pattern: str, implied: Callable[[Path], int], shared: Path, names: NameResolver
) -> None:
    files = sorted((shared / "formats" / folder).rglob(pattern))
    assert files
    reports = [item for item in read([shared / "formats" / folder], names) if isinstance(item, FileReport)]
    found = {item.path: (item.good, item.bad) for item in reports if not item.skipped}
    assert found == {path: (implied(path), 0) for path in files}


@pytest.mark.long
def test_a_parquet_table_gives_its_rows(shared: Path, names: NameResolver) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra 'parquet' is not installed")
    [path] = (shared / "formats" / "aiconfigurator").glob("*.parquet")
    *_, report = read([path], names)
    assert isinstance(report, FileReport)
    assert (report.good, report.bad) == (parquet.ParquetFile(path).metadata.num_rows, 0)


@pytest.mark.parametrize(
    ("folder", "good", "bad"),
    [
        ("argonne_csv", 2242, 0),
        ("ascend_profiler", 0, 0),  # profiles are for diagnosis
        ("ascend_serving_recipes", 8, 0),
        ("kernel_tuner_t1", 0, 0),  # spaces, no cases
        ("ktt", 8, 0),
        ("llmperf", 6, 0),
        ("markdown_tables", 304, 0),
        ("mindformers", 1, 3),  # three rows link a YAML that is not there
        ("mlperf_mllog", 0, 1),  # an excerpt without its end
        ("optuna", 80 + 60 + 2 * 60 + 25 + 80, 0),  # three studies, the journal, the data frame
        ("ray_tune", 7, 0),
    ],
)
def test_counts_of_the_other_samples(
    folder: str, good: int, bad: int, shared: Path, names: NameResolver
) -> None:
    _, reports = ingest_all(names, shared / "formats" / folder, hardware="A100")
    assert (sum(item.good for item in reports), sum(item.bad for item in reports)) == (good, bad)
