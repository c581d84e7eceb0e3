"""A deployment: one instance of an engine that serves a model, and the domain that a user leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recommender.ranking.start import ParallelLayout

FRAMEWORKS = {
    "trt": "tensorrt-llm", "trtllm": "tensorrt-llm", "trt-llm": "tensorrt-llm", "vllm-ascend": "vllm",
}  # fmt: skip
"""Published names and ids of frameworks; a plugin counts as what it plugs into."""


def framework_id(name: str) -> str:
    """The id of the framework of a published name: ``"dynamo-trt"`` is TensorRT-LLM behind a router."""
    last = name.strip().lower().removeprefix("dynamo-").removeprefix("mori-")
    return FRAMEWORKS.get(last, last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """One instance that serves a model, with its load.

    Attributes:
        framework: Id of the engine.
        layout: How the work is divided.
        drafts: Whether tokens are drafted and verified.
        concurrency: Requests that it holds at once.
    """

    framework: str
    layout: ParallelLayout
    drafts: bool = False
    concurrency: float

    def to_json(self) -> dict[str, Any]:
        """Plain content."""
        return {
            "framework": self.framework,
            "layout": self.layout.to_json(),
            "drafts": self.drafts,
            "concurrency": self.concurrency,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentDomain:
    """What is open.

    Attributes:
        frameworks: Engines that may run.
        counts: Numbers of devices of one instance.
        most_at_once: Requests at once that one instance gets at most.
        drafts: Whether tokens may be drafted: the model or a smaller one proposes them.
    """

    frameworks: tuple[str, ...]
    counts: tuple[int, ...]
    most_at_once: float
    drafts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedDeployment:
    """A deployment with what it is expected to reach.

    Attributes:
        deployment: The deployment.
        throughput: Output tokens a second of the instance.
        requests_per_s: Requests a second of the instance.
        tpot_s: Seconds for each output token of a request.
        ttft_s: Seconds to the first one.
        latency_s: Seconds to the last one.
        chance: That all limits hold that can be told.
        spread: Standard deviation of the log of the time.
        near: Measured rows of the same layout that speak for it.
        memory_bytes: On the fullest device.
        watts: Power of a device; None where it is not known.
    """

    deployment: Deployment
    throughput: float
    requests_per_s: float
    tpot_s: float
    ttft_s: float
    latency_s: float
    chance: float
    spread: float
    near: int
    memory_bytes: float
    watts: float | None = None

    @property
    def devices(self) -> int:
        """Devices of the instance."""
        return self.deployment.layout.devices

    @property
    def times(self) -> dict[str, float]:
        """Seconds by the metric of a limit."""
        return {"tpot": self.tpot_s, "ttft": self.ttft_s, "latency": self.latency_s}

    @property
    def value(self) -> float:
        """Output tokens a second and device that keep the limits, expected."""
        return self.throughput / self.devices * self.chance

    @property
    def watt_hours_per_million(self) -> float | None:
        """Watt-hours for a million output tokens; None where the power is not known."""
        return None if self.watts is None else self.watts * self.devices / self.throughput / 3600 * 1e6
