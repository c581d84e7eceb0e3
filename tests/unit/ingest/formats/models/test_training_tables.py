"""Training tables of READMEs."""

from pathlib import Path

from ingest.door.records import NameResolver
from kg.nouns.entities import Kind, Status
from tests.samples.readings import ingest


def test_megatron_rows_with_parentheses_are_two_runs(names: NameResolver, tmp_path: Path) -> None:
    (tmp_path / "m.md").write_text(
        "## 25.11 NeMo Container\n### Pre-Training Performance\n#### System: DGX-GB200\n\n"
        "| Model | #-GPUs | Precision | GBS | MBS | Sequence Length | FSDP | TP | VP | Tokens / sec / GPU |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n"
        "| LLAMA3_8B (x) | 8 | FP8-CS (FP8-MX) | 128 | 2 | 8192 | 64 (0) | 1 | n/a | 37556 (36108) |\n"
        "| LLAMA3_8B | 8 | FP8-CS | 128 | 2 | 8192 | 0 | 1 | 1 | |\n| too | short |\n"
    )
    cases, report = ingest(names, tmp_path / "m.md")
    assert [case.measurement.value for case in cases] == [37556, 36108, None]
    assert [case.configuration["fsdp"] for case in cases] == [64, 0, 0]
    assert cases[0].configuration["vp"] is None
    assert [case.problem.workload.precision for case in cases] == ["fp8-cs", "fp8-mx", "fp8-cs"]
    assert cases[0].problem.workload.model == "LLAMA3_8B"
    assert cases[0].software["nemo-container"] == "25.11"
    assert cases[2].measurement.status is Status.UNKNOWN
    assert {case.kind for case in cases} == {Kind.PUBLISHED}
    assert [str(fault) for fault in report.faults] == ["line 9: 2 cells, where the header has 10"]
