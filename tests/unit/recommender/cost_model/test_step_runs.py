"""Measured runs of whole steps from a CSV."""

from pathlib import Path

import pytest

import data
from kg.errors import InputError
from recommender.cost_model.anchors import shipped_anchors
from recommender.cost_model.question import Question
from recommender.cost_model.step_runs import StepRun, measured_steps, read_runs
from tests.unit.recommender.cost_model.machines import machine_of, model

HEAD = "model,hardware,count,metric,unit,value,batch"
RUN = "qwen3-32b,ascend-910b1,8,tpot,ms,45,16"


def question_of(run: StepRun) -> Question:
    names = run.names
    return Question(
        model=model(names["model"]),
        machine=machine_of(names["hardware"], run.count, names["server"]),
        phase=names["phase"] or "serving",
        settings=run.settings,
        engine=names["engine"],
        version=names["version"],
    )


def written(folder: Path, *lines: str) -> Path:
    path = folder / "runs.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_units_are_seconds_and_rates_of_all_devices(tmp_path: Path) -> None:
    path = written(tmp_path, HEAD, RUN, "qwen3-32b,ascend-910b1,8,throughput,tokens/s/device,50,16")
    assert [run.value for run in read_runs(path)] == [pytest.approx(0.045), 400]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((HEAD,), "no run in it"),
        (("model,hardware,count,metric,unit", "a,b,1,tpot,ms"), "no column value"),
        ((HEAD, RUN, RUN.replace("ms,45", "s,0.045")), "tpot is in ms and, line 3, in s"),
        ((HEAD, RUN.replace(",45,", ",-45,")), "line 2: value: '-45' is no number above 0"),
        ((HEAD, RUN.replace(",8,", ",0,")), "line 2: count: '0' is no number above 0"),
        ((HEAD, RUN.replace("tpot", "speed")), "line 2: no metric named 'speed'"),
        ((HEAD, RUN.replace("ms", "hours")), "line 2: tpot: no unit 'hours'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_runs(written(tmp_path, *lines))


def test_a_run_with_a_length_below_one_is_refused_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, f"{HEAD},input_len,server", f"{RUN},0,atlas-800t-a2")
    with pytest.raises(InputError, match=r"runs.csv: line 2: input_len: a whole number of at least 1, not 0"):
        measured_steps(read_runs(path), question_of, name=path.name)


def test_the_shipped_steps_are_what_physics_makes_of_their_table() -> None:
    path = Path(data.__file__).parent / "cost_model" / "steps.csv"
    steps = measured_steps(read_runs(path), question_of, name=path.name)
    assert [step.source for step in steps] == [step.source for step in shipped_anchors().steps]
    for one, two in zip(steps, shipped_anchors().steps, strict=True):
        assert one.log_ratio == pytest.approx(two.log_ratio, abs=1e-4), "python -m tools.ship_steps WORKSPACE"
