import json
from pathlib import Path

import pytest

from kg.nouns.entities import Kind, Status
from kg.nouns.values import Settings
from tests.samples.readings import Reader

ARGUMENTS = [["TENSOR", [1, 3, 8, 8], "float32"], [1, 1], None]
ENTITY = [["tile_f", "sp", [6, 1, 32]], ["unroll", "ot", 512]]


def line(target: str = "cuda -model=rtx2080ti", costs: object = (2e-3,), error: object = 0) -> str:
    return json.dumps(
        {
            "input": [target, "conv2d_nchw.cuda", ARGUMENTS, {}],
            "config": {"index": 7, "code_hash": None, "entity": ENTITY},
            "result": [costs, error, 14.1, 1535423916.7],
            "version": 0.2,
            "tvm_version": "0.7.dev0",
        }
    )


def oldest() -> str:
    config = {"e": ENTITY, "i": 7, "c": None, "t": "winograd"}
    given = ["cuda -model=rtx2080ti", "topi_nn_conv2d", ARGUMENTS, {}, ["conv2d"], config]
    return json.dumps({"r": [[2e-3], 0, 1.8, 1535340502.6], "i": given, "v": 0.1})


def short() -> str:
    config = {"entity": ENTITY, "index": 7}
    given = ["cuda -model=rtx2080ti", "conv2d_nchw.cuda", ARGUMENTS, {}]
    return json.dumps({"i": given, "c": config, "r": [[2e-3], 0, 1.8, 1.5e9], "v": 0.2, "t": "0.6"})


def test_a_line_is_a_measured_case_in_seconds(tmp_path: Path, read_file: Reader) -> None:
    path = tmp_path / "tune.log"
    path.write_text(f"# a comment\n\n{line()}\n")
    (case,), report = read_file(path)
    assert (report.format, report.bad) == ("autotvm", 0)
    work, hardware = case.problem.workload, case.problem.hardware
    assert work.operator == "conv2d_nchw.cuda"
    assert work.shape == Settings({"args": ARGUMENTS})
    assert hardware.name == "rtx-2080-ti"
    assert hardware.traits == Settings({"backend": "cuda", "target": "cuda -model=rtx2080ti"})
    assert case.configuration == Settings({"tile_f": [6, 1, 32], "unroll": 512, "template_index": 7})
    assert (case.measurement.metric, case.measurement.value, case.measurement.unit) == (
        "kernel_time",
        2e-3,
        "s",
    )
    assert (case.kind, case.software) == (Kind.MEASURED, Settings({"tvm": "0.7.dev0"}))


def test_all_dialects_say_the_same(tmp_path: Path, read_file: Reader) -> None:
    path = tmp_path / "tune.log"
    path.write_text(f"{line()}\n{short()}\n{oldest()}\n")
    (new, brief, old), _ = read_file(path)
    assert new.problem.id == brief.problem.id
    assert new.configuration == brief.configuration
    assert (old.problem.workload.operator, old.configuration["template"]) == ("topi_nn_conv2d", "winograd")
    assert old.problem.workload.shape == new.problem.workload.shape
    assert {case.measurement.value for case in (new, brief, old)} == {2e-3}


def test_several_costs_give_mean_and_spread(tmp_path: Path, read_file: Reader) -> None:
    path = tmp_path / "tune.log"
    path.write_text(line(costs=[0.002, 0.004]))
    (case,), _ = read_file(path)
    assert (case.measurement.value, case.measurement.repeats) == (0.003, 2)
    assert case.measurement.stdev == pytest.approx(0.001 * 2**0.5)


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (1, Status.FORBIDDEN, "the template refuses the configuration"),
        (2, Status.FAILED, "compilation on the host failed"),
        (4, Status.FAILED, "run on the device failed"),
        (5, Status.FAILED, "wrong answer"),
        (7, Status.TIMED_OUT, "run timed out"),
        (77, Status.FAILED, "error 77"),
    ],
)
def test_error_numbers_are_failures(
    tmp_path: Path, read_file: Reader, error: int, status: Status, reason: str
) -> None:
    path = tmp_path / "tune.log"
    path.write_text(line(costs=[["RuntimeError", "no"]], error=error))
    (case,), _ = read_file(path)
    assert (case.measurement.status, case.measurement.value, case.measurement.reason) == (
        status,
        None,
        reason,
    )


@pytest.mark.parametrize(
    ("target", "backend"),
    [
        ("opencl -device=mali -model=rtx2080ti", "mali"),
        ("llvm -mcpu=rtx2080ti", "llvm"),
        ("cuda -keys=cuda,gpu -model=rtx2080ti -thread_warp_size=32", "cuda"),
    ],
)
def test_the_device_is_in_the_target(tmp_path: Path, read_file: Reader, target: str, backend: str) -> None:
    path = tmp_path / "tune.log"
    path.write_text(line(target))
    (case,), _ = read_file(path)
    assert case.problem.hardware.name == "rtx-2080-ti"
    assert case.problem.hardware.traits["backend"] == backend


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (line("cuda"), "the target names no device"),
        (line("cuda -model='x"), "open quotation"),
        (line(costs=[]), "no times"),
        (line(costs=[True]), "no times"),
        (line(costs=[-1.0]), "negative"),
        (line(error="0"), "costs and an error number"),
        ('{"input": [["key", "cuda"], 1], "config": 1, "result": [[1.0], 0]}', "auto-scheduler"),
        ('{"input": [], "config": {}, "result": []}', "input (target, operator, arguments)"),
        ('{"input": ["cuda -model=a", "op", []], "config": {"entity": [1]}, "result": [[1], 0]}', "a knob"),
        ('{"input": ["cuda', "no JSON"),
        ("[" * 100_000, "nested without end"),
    ],
)
def test_a_bad_line_spoils_no_other(tmp_path: Path, read_file: Reader, bad: str, reason: str) -> None:
    path = tmp_path / "tune.log"
    path.write_text(f"{line()}\n{bad}\n{line()}\n")
    cases, report = read_file(path)
    assert len(cases) == 2
    (fault,) = report.faults
    assert fault.place == "line 2"
    assert reason in fault.reason
