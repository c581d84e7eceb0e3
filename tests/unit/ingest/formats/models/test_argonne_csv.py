"""Argonne's result tables."""

from collections import Counter
from pathlib import Path

from ingest.door.records import NameResolver
from tests.samples.readings import ingest


def test_argonne_power_is_in_milliwatts_and_one_card_has_one_name(names: NameResolver, shared: Path) -> None:
    cases, report = ingest(names, shared / "formats/argonne_csv/power_results_A100.csv")
    assert (report.good, report.bad) == (48, 0)
    power = [case.measurement.value for case in cases if case.measurement.metric == "power"]
    assert len(power) == 24
    assert all(value is not None and 50 < value < 500 for value in power)
    assert "avg_power names no unit; taken as mW by its size" in report.guesses
    cases, _ = ingest(names, shared / "formats/argonne_csv/All_results.EXCERPT.csv")
    reported = {"Intel PVC GPU", "Intel Max 1550"}
    assert len({c.problem.hardware.name for c in cases if c.problem.hardware.reported in reported}) == 1


def test_argonne_parallelisms_have_one_spelling(names: NameResolver, shared: Path) -> None:
    cases, report = ingest(names, shared / "formats/argonne_csv/TP_EP_PP_results.csv")
    assert Counter(case.configuration["parallelism"] for case in cases) == {
        "Tensor Parallelism": 197,
        "Pipeline Parallelism": 79,
        "Expert Parallelism": 4,
        "Hybrid TP = 2 and PP = 2": 7,
        "Hybrid TP = 2 and EP = 2": 4,
    }
    assert sum("is read as" in guess for guess in report.guesses) == 4


def test_an_argonne_row_with_a_word_for_a_number_is_told(names: NameResolver, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "Hardware,Num of Hardware,Framework,Model,Input Output Length,Batch Size,Latency,Throughput\n\n"
        "A100,1,vLLM,m,128,1,2,oom\nA100,1,vLLM,m,128,1,2\nA100,1,vLLM,m,128,1,,\nA100,1,vLLM,m,128,1,2,7\n"
    )
    cases, report = ingest(names, tmp_path / "a.csv")
    assert [case.measurement.value for case in cases] == [None, 7.0]
    assert [str(fault) for fault in report.faults] == [
        "line 3: Throughput: 'oom' is no number",
        "line 4: 7 cells, where the header has 8",
    ]
