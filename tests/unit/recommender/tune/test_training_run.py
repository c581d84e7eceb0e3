"""Training runs by their logs: real processes that print steps, and end, hang, or lose their numbers."""

import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.questions.patches.script_edits import ScriptEdits
from kg.errors import InputError
from kg.nouns.entities import Better, Status
from recommender.tune.engine_process import LaunchPlace
from recommender.tune.launch_script import LaunchScript
from recommender.tune.training_run import TrainingEvaluator, _Course, check_own_pattern
from recommender.tune.tune_result import TuneResult, TuneStart

TRAINER = """
import os, sys, time
pace, style = float(os.environ.get("PACE", "0.02")), os.environ.get("STYLE", "plain")
if style == "dies": sys.exit("RuntimeError: NPU out of memory")
if style == "hangs": print("compiling"); time.sleep(60)
print("loading")
for step in range(1, 200):
    time.sleep(pace * (10 if step < 3 else 1))
    loss = "nan" if style == "nan" and step > 4 else f"{4 / step:.4f}"
    if style == "megatron":
        print(f" iteration {step:8d}/ 200 | elapsed time per iteration (ms): {1234.5:.1f} | lm loss: {loss}")
    elif style == "mindformers":
        print(f"step:[{step:5d}/  200], loss: {loss}, per_step_time: 1500ms, lr: 1e-05")
    elif style == "rate":
        print(f"tokens/s: {100 * step},", "tokens/s: n/a", sep="\\n")
    elif style == "transformers":  # 5.23, as it writes to a file
        loss = "'nan'" if step > 150 else f"'{4 / step:.4f}'"
        print(f"\\r {step // 2}%|#    | {step}/200 [00:0{step % 9}<00:09,  9.9it/s]", end="")
        print(f"\\r      \\r{{'loss': {loss}, 'grad_norm': '1.2', 'learning_rate': '1e-05', 'epoch': '0.01'}}")
    elif style == "fast":
        for turn in range(20): print(f"step {20 * step + turn} loss: eager")
    elif style == "short" and step > 4:
        break
    else:
        print(f"step {step} loss: {loss}")
"""


def evaluator(folder: Path, **more: Any) -> TrainingEvaluator:
    (folder / "train.py").write_text(TRAINER)
    path = folder / "train.sh"
    path.write_text(f"{sys.executable} train.py\n")
    script = LaunchScript.read(path, folder, path.read_text(), trains=True)
    return TrainingEvaluator(
        place=LaunchPlace(
            script=script,
            base=dict(os.environ),
            folder=folder / "runs",
            mark="test-training",
            silence_s=1.0,
        ),
        steps=8,
        **more,
    )


def measure(made: TrainingEvaluator, bar: float | None = None, **variables: str) -> TuneResult:
    return made.evaluate(
        TuneStart(edits=ScriptEdits(variables=variables), number=0, bar=bar), threading.Event()
    )


def test_the_time_between_steps_counts_once_they_are_warm(tmp_path: Path) -> None:
    found = measure(evaluator(tmp_path))
    assert found.is_ok
    assert found.value is not None
    assert 0.018 < found.value < 0.15  # the first ones took 0.2 s
    assert found.others["loss"] < 1


def test_what_the_trainer_prints_itself_counts_before_the_clock(tmp_path: Path) -> None:
    assert measure(evaluator(tmp_path), STYLE="megatron").value == pytest.approx(1.2345)
    assert measure(evaluator(tmp_path), STYLE="mindformers").value == pytest.approx(1.5)


def test_steps_of_a_trainer_that_counts_them_in_a_bar(tmp_path: Path) -> None:
    found = measure(evaluator(tmp_path), STYLE="transformers")
    assert 0.018 < (found.value or 0) < 0.15
    assert 0 < found.others["loss"] < 1


def test_a_batch_of_half_the_samples_is_no_gain(tmp_path: Path) -> None:
    """Half of the samples in half of the time is as fast as before."""
    made = evaluator(tmp_path)
    text = f"{sys.executable} train.py --per_device_train_batch_size 8 --gradient_accumulation_steps 2\n"
    script = LaunchScript.read(made.place.script.path, tmp_path, text, trains=True)
    made = replace(made, place=replace(made.place, script=script))
    whole = measure(made, PACE="0.04").value
    flags = {"--per_device_train_batch_size": ("4",)}
    start = TuneStart(edits=ScriptEdits(flags=flags, variables={"PACE": "0.02"}), number=1)
    half = made.evaluate(start, threading.Event())
    assert half.others["samples_factor"] == 0.5
    assert half.value == pytest.approx(whole, rel=0.25)


def test_steps_faster_than_the_clock_are_timed_over_more_of_them(tmp_path: Path) -> None:
    assert 0 < (measure(evaluator(tmp_path), STYLE="fast").value or 0) < 0.015  # twenty in 0.2 s at most


def test_who_reads_late_times_steps_as_they_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader is held up where steps begin to count, as on a machine that others use."""
    plain = _Course.read

    def late(course: _Course, lines: list[str], at: float) -> None:
        plain(course, lines, at)
        time.sleep(0.3 if 2 < len(course.seen) < 7 else 0.0)

    monkeypatch.setattr(_Course, "read", late)
    assert (measure(evaluator(tmp_path), PACE="0.04").value or 0) > 0.038


def test_a_number_of_the_users_own(tmp_path: Path) -> None:
    made = evaluator(tmp_path, line=r"tokens/s: (\S+)", better=Better.HIGHER)
    found = measure(made, STYLE="rate")
    assert found.value is not None
    assert found.value >= 700  # the mean of those after the first three
    assert made.objective.better is Better.HIGHER


def test_a_slow_candidate_is_given_up_early(tmp_path: Path) -> None:
    found = measure(evaluator(tmp_path), bar=0.001, PACE="0.05")
    assert found.is_dropped
    assert "the best has 0.001" in found.reason


@pytest.mark.parametrize(
    ("style", "says"),
    [
        ("dies", "exit code 1: RuntimeError: NPU out of memory"),
        ("hangs", "it said last: compiling"),
        ("nan", "its loss is nan"),
        ("short", "it ended after 0 steps that count"),
    ],
)
def test_runs_that_give_no_number(tmp_path: Path, style: str, says: str) -> None:
    found = measure(evaluator(tmp_path), STYLE=style)
    assert found.status is Status.FAILED
    assert says in found.reason


def test_a_line_needs_one_group() -> None:
    for line in ("loss", "(a)(b)", "("):
        with pytest.raises(InputError, match="--line"):
            check_own_pattern(line)
