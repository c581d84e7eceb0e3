"""NeMo's recommended configurations."""

from collections import Counter
from pathlib import Path

from ingest.door.records import NameResolver
from kg.nouns.entities import Kind, Status
from tests.samples.readings import ingest


def test_nemo_rows_are_winners_without_a_result(names: NameResolver, shared: Path) -> None:
    cases, report = ingest(names, shared / "formats/nemo_recommended_configs/model_configs_b200.csv")
    assert (report.good, report.bad) == (43, 0)
    assert {(case.kind, case.measurement.status) for case in cases} == {(Kind.WINNER, Status.NOT_MEASURED)}
    floats = next(case for case in cases if case.problem.workload.model == "llama4 e128")
    assert (floats.configuration["tp"], floats.problem.hardware.count) == (8, 256)
    assert isinstance(floats.configuration["tp"], int)
    assert floats.configuration["recompute_modules"] is None
    assert Counter(case.problem.workload.operator for case in cases)["pretrain"] == 30
