"""Optuna's journal."""

import json
from pathlib import Path

from ingest.door.records import NameResolver
from tests.samples.optuna_database import CHOICES
from tests.samples.readings import ingest

JOURNAL = [
    {"op_code": 0, "worker_id": "w", "study_name": "s", "directions": [1]},
    {"op_code": 0, "worker_id": "v", "study_name": "s", "directions": [1]},
    {"op_code": 2, "worker_id": "w", "study_id": 0, "user_attr": {"hardware": "A100", "op": "gemm"}},
    {"op_code": 3, "worker_id": "w", "study_id": 0, "system_attr": {"study:metric_names": ["latency_us"]}},
    {"op_code": 4, "worker_id": "w", "study_id": 0, "datetime_start": "x"},
    {
        "op_code": 5,
        "worker_id": "w",
        "trial_id": 0,
        "param_name": "tile",
        "param_value_internal": 0,
        "distribution": CHOICES,
    },
    {"op_code": 6, "worker_id": "w", "trial_id": 0, "state": 1, "values": [7.5]},
    {"op_code": 6, "worker_id": "v", "trial_id": 0, "state": 3, "values": None},
    {"op_code": 6, "worker_id": "w", "trial_id": 5, "state": 1, "values": [1]},
    {"op_code": 99, "worker_id": "w"},
    {"op_code": 4, "worker_id": "w", "study_id": 3},
]


def test_a_journal_is_put_together_and_its_bad_lines_are_told(names: NameResolver, tmp_path: Path) -> None:
    lines = [json.dumps(line) for line in JOURNAL] + ["[1]", "{"]
    (tmp_path / "j.log").write_text("\n".join(lines))
    cases, report = ingest(names, tmp_path / "j.log")
    assert [case.measurement.value for case in cases] == [7.5e-6]
    assert (cases[0].measurement.metric, dict(cases[0].configuration)) == ("latency", {"tile": 16})
    assert [fault.place for fault in report.faults] == ["line 9", "line 10", "line 11", "line 12", "line 13"]
