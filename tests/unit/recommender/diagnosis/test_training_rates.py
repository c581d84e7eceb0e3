"""What trainers write of their steps, read as rates, slow steps, memory and parts."""

from collections.abc import Iterable

import pytest

from recommender.diagnosis.training_rates import TrainingRates, TrainingSamples, training_marks


def rates(lines: Iterable[str]) -> TrainingRates:
    samples = TrainingSamples()
    for line in lines:
        if training_marks(line.encode()):
            samples.take(line.encode())
    found = samples.rates()
    assert found is not None
    return found


TITAN = "step: {step}  loss: 7.1  memory: 77.2GiB({full}%)  tps: {tps:,}  tflops: 353.4  mfu: 35.7%"


@pytest.mark.parametrize(
    ("line", "program", "step_s"),
    [
        ("iteration: 3 / 10 | elapsed_time_per_iteration_ms: 8.20K | tokens_per_sec: 256K", "nanotron", 8.2),
        (" iteration 9/ 500 | elapsed time per iteration (ms): 8200.0 | lm loss: 2.1", "megatron-core", 8.2),
        ("{ Epoch:[ 1/ 1], step:[ 4/ 20], loss: 9.1, per_step_time: 8200ms, lr: 2e-06", "mindformers", 8.2),
        ("step:4 - perf/mfu/actor:0.3 - timing_s/gen:6.0 - timing_s/step:8.2", "verl", 8.2),
        ("  3%|▍  | 3/90 [00:42<15:01, 8.20s/it]", "transformers", 8.2),
    ],
)
def test_the_length_of_a_step_is_read(line: str, program: str, step_s: float) -> None:
    found = rates([line] * 9)
    assert (found.program, found.samples, found.slow) == (program, 9, 0)
    assert found.medians["step_s"] == pytest.approx(step_s)


def test_slow_steps_and_a_full_memory_are_told() -> None:
    lines = [TITAN.format(step=at, full=98.1, tps=2000 if at % 10 == 0 else 6000) for at in range(1, 62)]
    found = rates(lines)
    assert (found.slow, found.every) == (6, 10)
    assert found.factor == pytest.approx(3.0)
    assert found.lost_share == pytest.approx(12 / 73)
    assert found.is_full
    assert not rates([TITAN.format(step=1, full=60.0, tps=6000)]).is_full


def test_steps_that_grow_are_told() -> None:
    assert rates(f"'throughput': {tps}, " for tps in [3600.0] * 20 + [1200.0] * 20).growth == pytest.approx(3)


def test_parts_have_their_share_of_a_step() -> None:
    told = "time (ms) | fwd_microstep: 400.0 | bwd_microstep: 2900.0 | bwd_inner_microstep: 800.0 | "
    lines = ["CurrSamplesPerSec=9.1, MaxMemAllocated=70GB", told + "bwd_allreduce_microstep: 2100.0"] * 9
    found = rates(lines)
    assert found.reduces is not None
    assert found.reduces[1] == pytest.approx(2100 / 3300)
    assert found.parts["bwd_microstep"] == pytest.approx(2900 / 3300)
