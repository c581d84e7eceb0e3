"""Tables of own runs."""

from pathlib import Path

from ingest.door.records import NameResolver
from kg.nouns.entities import Kind
from tests.samples.readings import written

HEADER = "model,hardware,server,count,phase,engine,version,metric,unit,value,tensor_parallel,batch,input_len,output_len\n"


def test_a_row_is_a_measured_case_with_its_engine_and_settings(names: NameResolver, tmp_path: Path) -> None:
    row = "qwen3-32b,ascend-910b1,atlas-800t-a2,8,,vllm-ascend,0.11,tpot,ms,45,8,16,2048,512\n"
    [case], report = written(tmp_path / "runs.csv", HEADER + row, names)
    assert (report.good, report.bad) == (1, 0)
    work, hardware = case.problem.workload, case.problem.hardware
    assert (work.kind, work.model, dict(work.shape)) == (
        "serving", "qwen3-32b", {"input_len": 2048, "output_len": 512},
    )  # fmt: skip
    assert (hardware.name, hardware.count) == ("ascend910b1", 8)
    assert dict(case.configuration) == {"tensor_parallel": 8, "batch": 16}
    assert (case.measurement.metric, case.measurement.value, case.kind) == ("tpot", 0.045, Kind.MEASURED)
    assert {**case.problem.software, **case.software} == {"vllm-ascend": "0.11"}


def test_all_faults_of_a_table_are_told_with_their_lines(names: NameResolver, tmp_path: Path) -> None:
    rows = (
        "qwen3-32b,ascend-910b1,,8,,,,tpot,ms,fast,8,16,2048,512\n"
        "qwen3-32b,ascend-910b1,,8,tuning,,,tpot,ms,45,8,16,2048,512\n"
        "qwen3-32b,ascend-910b1,,8,,,,tpot,parsecs,45,8,16,2048,512\n"
        "qwen3-32b,ascend-910b1,,8,,,,tpot,ms,45,8,16,2048,512\n"
    )
    cases, report = written(tmp_path / "runs.csv", HEADER + rows, names)
    assert len(cases) == 1
    assert [fault.place for fault in report.faults] == ["line 2", "line 3", "line 4"]
    assert [str(fault).partition(": ")[2] for fault in report.faults][:2] == [
        "value: 'fast' is no number",
        "phase 'tuning': expected serving or training",
    ]
