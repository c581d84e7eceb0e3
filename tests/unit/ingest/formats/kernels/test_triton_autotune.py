"""Records of Triton's autotuner and PyTorch's compiler."""

import json
from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from kg.nouns.entities import Kind, Status
from tests.samples.readings import written

TUNED = {
    "key": [512, 1024, "torch.float16", "torch.float16"],
    "configs_timings": [
        [{"kwargs": {"BLOCK_M": 64}, "num_warps": 4, "num_stages": 2, "pre_hook": None}, [0.5, 0.49, 0.51]],
        [{"kwargs": {"BLOCK_M": 128}, "num_warps": 8, "num_stages": 2, "maxnreg": None}, 0.25],
        [{"kwargs": {"BLOCK_M": 256}, "num_warps": 8, "num_stages": 4}, [float("inf")] * 3],
        ["no pair"],
    ],
}


def test_timed_configurations_and_those_that_do_not_run(tmp_path: Path, names: NameResolver) -> None:
    cases, report = written(tmp_path / "add.autotune.json", json.dumps(TUNED), names, "A100")
    assert [case.measurement.value for case in cases] == pytest.approx([0.0005, 0.00025, None])
    assert cases[2].measurement.status is Status.FAILED
    assert dict(cases[0].configuration) == {"BLOCK_M": 64, "num_warps": 4, "num_stages": 2}
    work = cases[0].problem.workload
    assert (work.operator, work.precision, dict(work.shape)) == ("add", "float16", {"key": (512, 1024)})
    assert cases[0].measurement.stdev == pytest.approx(0.02e-3 / (2 * 0.8416))
    assert report.bad == 1


def test_the_winner_of_a_generated_kernel_has_no_time(tmp_path: Path, names: NameResolver) -> None:
    best = {"XBLOCK": 512, "num_warps": 4, "num_stages": 1, "configs_hash": "x", "time_taken_ms": 12}
    [case], _ = written(tmp_path / "cabc.best_config", json.dumps(best), names, "A100")
    assert case.kind is Kind.WINNER
    assert dict(case.configuration) == {"XBLOCK": 512, "num_warps": 4, "num_stages": 1}


def test_without_hardware_the_option_is_named(tmp_path: Path, names: NameResolver) -> None:
    cases, report = written(tmp_path / "add.autotune.json", json.dumps(TUNED), names, "")
    assert not cases
    assert "--hardware" in str(report.faults[0])
