"""Proton's trees and CANN's repositories of tilings, in the forms of their sources; not run here."""

import json
from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from kg.nouns.entities import Status
from tests.samples.readings import written


def node(name: str, metrics: dict[str, object], *children: object) -> dict[str, object]:
    return {"children": list(children), "frame": {"name": name, "type": "function"}, "metrics": metrics}


KERNEL = {"bytes": 8000.0, "count": 4, "device_id": "0", "device_type": "CUDA", "time (ns)": 16000}
TREE = [
    node(
        "ROOT", {"count": 0, "time (ns)": 0}, node("layer", {}, node("add_kernel", KERNEL), node("idle", {}))
    ),
    {"CUDA": {"0": {"arch": "86", "num_sms": 16}}},
]
TILING = {
    "id": 12,
    "info_dict": {"m": 1024, "n": 512, "k": 256, "trans_a": False},
    "knowledge": {"baseM": 128, "baseN": 256},
    "op": "MatMulV3",
    "version": 0,
}


def test_a_kernel_of_a_tree_has_the_mean_of_its_runs(tmp_path: Path, names: NameResolver) -> None:
    [case], report = written(tmp_path / "proton.hatchet", json.dumps(TREE), names, "A100")
    assert (report.format, report.bad) == ("kernel-profiles", 0)
    assert case.problem.workload.operator == "add_kernel"
    assert case.measurement.value == pytest.approx(4e-6)
    assert case.measurement.repeats == 4
    assert dict(case.problem.workload.shape) == {"bytes": 2000.0}
    assert dict(case.problem.workload.traits) == {"scope": "layer"}


def test_a_tree_names_no_hardware(tmp_path: Path, names: NameResolver) -> None:
    _, report = written(tmp_path / "proton.hatchet", json.dumps(TREE), names)
    assert "tell it with --hardware" in str(report.faults[0])


def test_a_tiling_is_a_choice_without_a_time(tmp_path: Path, names: NameResolver) -> None:
    path = tmp_path / "Ascend910B1_24_AiCore_MatMulV3_runtime_kb.json"
    [case], report = written(path, json.dumps(TILING) + '\n{"info_dict": 1, "knowledge": 2}\n', names)
    assert report.bad == 1
    assert case.measurement.status is Status.NOT_MEASURED
    assert dict(case.configuration) == {"baseM": 128, "baseN": 256}
    assert case.problem.hardware.reported == "Ascend910B1"
    assert dict(case.problem.hardware.traits) == {"cores": 24}
