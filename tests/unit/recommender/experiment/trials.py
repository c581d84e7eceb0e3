"""Experiments to test with: designs, evaluators without processes, a clock that can be turned."""

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import numpy as np

from kg.nouns.entities import Better, Kind, Status
from kg.nouns.values import Settings
from recommender.experiment.design import CONTROL, ExperimentDesign
from recommender.measuring.outcome import CancelledError, RunOutcome

A, B, C = (Settings({"batch": size}) for size in (32, 64, 128))


def design(**changed: Any) -> ExperimentDesign:
    told: dict[str, Any] = {
        "metric": "latency",
        "better": Better.LOWER,
        "unit": "s",
        "arms": {CONTROL: A, "treatment": B},
        "alpha": 0.05,
        "pairs": 60,
        "seed": 5,
    }
    return ExperimentDesign(**{**told, **changed})


@dataclass
class World:
    """An evaluator with a value for each batch size, noise, drift and failures."""

    values: dict[int, float] = field(default_factory=lambda: {32: 1.0, 64: 1.0, 128: 1.0})
    noise: float = 0.02
    drift: float = 0.0
    fails: tuple[int, ...] = ()
    more: dict[str, dict[int, float]] = field(default_factory=dict)
    stop_after: int = 10**9
    seed: int = 1

    kind = Kind.MEASURED

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.runs: list[int] = []

    def evaluate(self, configuration: Settings, cancel: Event) -> RunOutcome:
        size = int(str(configuration["batch"]))
        if len(self.runs) >= self.stop_after:
            raise CancelledError("stopped")
        self.runs.append(size)
        if size in self.fails:
            return RunOutcome(status=Status.FAILED, reason="out of memory: 2 GB asked for")
        noise = math.exp(self.noise * self.rng.normal() + self.drift * len(self.runs))
        more = {name: by_size[size] for name, by_size in self.more.items()}
        return RunOutcome(values={"latency": self.values[size] * noise, **more})


class Clock:
    """Ticks a second at each look; the system's own can jump."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.jump = timedelta()

    def monotonic(self) -> float:
        self.seconds += 1.0
        return self.seconds

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds) + self.jump
