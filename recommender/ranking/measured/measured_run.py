"""A measured configuration of a whole model among the cases, beside its price."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kg.nouns.gain import NORMAL_90
from kg.rows.trial_rows import Trial
from recommender.cost_model.measured.correction import UNLIKE
from recommender.cost_model.measured.step_place import PricedRun, StepPlace
from recommender.cost_model.step_runs import METRICS, TIMES


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun(PricedRun):
    """One measured configuration of a whole model.

    Attributes:
        modelled: What its price says: a rate of all devices, answers alone, or seconds.
        settings: Of the cost model.
        count: Devices.
        trial: The case.
        source: Where it can be read.
        usual: Standard deviation of such a price.
    """

    modelled: float
    settings: Mapping[str, object]
    count: int
    trial: Trial
    source: str = ""
    usual: float = 0.0

    @property
    def log_time(self) -> float:
        """Natural log of the measured time, or of what one of a rate takes: the less, the faster."""
        is_time = METRICS[self.trial.measurement.metric] is TIMES
        return self.log_ratio + math.log(self.modelled) * (1 if is_time else -1)


def as_counted(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """The runs of a problem with its rates as those of answers.

    Some count prompts too and seldom say so: that reading is taken whose price is nearer.
    """
    if not runs or runs[0].trial.measurement.metric != "throughput":
        return list(runs)
    lengths = [runs[0].settings.get(name) for name in ("input_len", "output_len")]
    if not all(isinstance(item, int | float) and item > 0 for item in lengths):
        return list(runs)
    before, answered = (float(str(item)) for item in lengths)
    both = math.log((before + answered) / answered)
    off = float(np.median([run.log_ratio for run in runs]))
    if abs(off + both) >= abs(off):
        return list(runs)
    return [replace(run, log_ratio=run.log_ratio + both) for run in runs]


def fastest(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """One run of a problem for each place: the fastest configuration, each by the median of its repetitions.

    Not the one that beats its price most: a setting that costs less than its price says is no better for it.
    """
    repeated: dict[tuple[StepPlace, str], list[MeasuredRun]] = defaultdict(list)
    for run in runs:
        if abs(run.log_ratio) < max(UNLIKE, NORMAL_90 * run.usual):
            repeated[run.place, run.trial.configuration.digest].append(run)
    best: dict[StepPlace, MeasuredRun] = {}
    for (place, _), same in repeated.items():
        median = sorted(same, key=lambda run: run.log_ratio)[len(same) // 2]
        if place not in best or median.log_time < best[place].log_time:
            best[place] = median
    return list(best.values())
