"""A producer's own file and the case JSONL made of it give the same problems and configurations."""

import gzip
import json
from pathlib import Path

import pytest

from ingest.door.records import NameResolver, Records
from kg.nouns.entities import Case
from tests.samples.readings import Reader

Key = tuple[str, str]

FOLDERS = [
    ("vllm_block_fp8_gemm", "vllm_sglang_fp8_block_gemm_winners", 108),
    ("vllm_mamba_ssu", "vllm_mamba_ssu_winners", 24),
    ("lightllm_autotune/bmm_scaled_fp8", "lightllm_triton_winners", 23),
    ("tvm_autotvm_log", "tvm_tophub_winners", 1448),
    ("aiter_csv", "aiter_tuned_kernels", 261),
    ("gptune_db", "gptune_hpc", 12),
]


def keys_of(cases: list[Case]) -> dict[Key, Case]:
    return {(case.problem.id, case.configuration.digest): case for case in cases}


def normalised(shared: Path, corpus: str, files: set[str], names: NameResolver) -> dict[str, dict[Key, Case]]:
    """The cases of a corpus by the name of the file that they are from."""
    records = Records(names)
    found: dict[str, list[Case]] = {name: [] for name in files}
    with gzip.open(shared / "cases" / f"{corpus}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            name = record["source"]["path"].rpartition("/")[2]
            if name in found:
                found[name].append(records.case(record))
    return {name: keys_of(cases) for name, cases in found.items()}


@pytest.mark.parametrize(("folder", "corpus", "expected"), FOLDERS)
def test_both_doors_lead_to_the_same(
    shared: Path, names: NameResolver, read_file: Reader, folder: str, corpus: str, expected: int
) -> None:
    files = sorted((shared / "formats" / folder).iterdir())
    theirs = normalised(shared, corpus, {path.name for path in files}, names)
    count = 0
    for path in files:
        if not theirs[path.name]:
            continue  # the corpus has nothing of it: an older layout, or an excerpt without rows
        ours = keys_of(read_file(path)[0])
        assert set(ours) <= set(theirs[path.name])
        count += len(ours)
        for key, case in ours.items():
            other = theirs[path.name][key]
            assert (case.kind, case.measurement.status) == (other.kind, other.measurement.status)
            assert case.problem.hardware == other.problem.hardware
    assert count == expected


def test_a_table_of_aiconfigurator_has_all_rows_of_its_corpus(
    shared: Path, names: NameResolver, read_file: Reader
) -> None:
    pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    path = shared / "formats" / "aiconfigurator" / "a100_sxm_vllm_0.14.0_gemm_perf.parquet"
    ours = keys_of(read_file(path)[0])
    records = Records(names)
    corpus = shared / "cases" / "aiconfigurator_gemm_backend.jsonl.gz"
    with gzip.open(corpus, "rt", encoding="utf-8") as lines:
        theirs = [records.case(json.loads(line)) for line in lines if "/a100_sxm/gemm/vllm/0.14.0/" in line]
    assert len(theirs) == 581
    for key, case in keys_of(theirs).items():
        assert ours[key].measurement.value == pytest.approx(case.measurement.value, rel=1e-3)
        assert ours[key].software == case.software
