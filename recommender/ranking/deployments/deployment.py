"""A deployment: one instance of an engine that serves a model, and what decides which are asked about."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kg.nouns.entities import Limit
    from kg.nouns.layout import ParallelLayout
    from recommender.cost_model.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a deployment serves.

    Attributes:
        device: Id of the device.
        model: Id of the model.
        precision: Canonical name of the number format of the weights.
        input_len: Tokens of a prompt.
        output_len: Tokens of an answer.
    """

    device: str
    model: str
    precision: str
    input_len: float
    output_len: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """One instance that serves a model, with its load.

    Attributes:
        framework: Id of the engine.
        version: Its release; empty if not stated.
        layout: How the work is divided.
        drafts: Whether tokens are drafted and verified.
        concurrency: Requests that it holds at once.
        role: ``"prefill"`` or ``"decode"`` where instances of their own do each; empty for both.
    """

    framework: str
    version: str = ""
    layout: ParallelLayout
    drafts: bool = False
    concurrency: float
    role: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain content."""
        return {
            "framework": self.framework,
            "layout": self.layout.to_json(),
            "drafts": self.drafts,
            "concurrency": self.concurrency,
            **({"role": self.role} if self.role else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentDomain:
    """What is open.

    Attributes:
        frameworks: Engines that may run.
        version: Release of the engine; empty if not stated.
        counts: Numbers of devices of one instance.
        most_at_once: Requests at once that one instance gets at most.
        drafts: Whether tokens may be drafted: the model or a smaller one proposes them.
        role: What the instances do; empty for prefill and decode.
    """

    frameworks: tuple[str, ...]
    version: str = ""
    counts: tuple[int, ...]
    most_at_once: float
    drafts: bool = False
    role: str = ""

    @property
    def loads(self) -> tuple[float, ...]:
        """Requests at once that are tried, on all devices of an instance."""
        most = self.most_at_once
        return tuple(sorted({2.0**k for k in range(int(math.log2(most)) + 1)} | {most}))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentQuestion:
    """What deployments are asked for.

    Attributes:
        work: What is served.
        domain: What is open.
        limits: Bounds on ``tpot``, ``ttft``, ``ttft_p99`` or ``latency``, in seconds.
        base: The decision for the question, whose settings all of them have; None for the engine's defaults.
    """

    work: Work
    domain: DeploymentDomain
    limits: tuple[Limit, ...] = ()
    base: Question | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedDeployment:
    """A deployment with what it is expected to reach.

    Attributes:
        deployment: The deployment.
        throughput: Output tokens a second of the instance.
        requests_per_s: Requests a second of the instance.
        tpot_s: Seconds for each output token of a request.
        ttft_s: Seconds to the first one where nobody waits.
        latency_s: Seconds to the last one, likewise.
        spread: Standard deviation of the log of all of these times: they are too long or too short together.
        memory_bytes: On the fullest device.
        watts: Power of a device; None where it is not known.
    """

    deployment: Deployment
    throughput: float
    requests_per_s: float
    tpot_s: float
    ttft_s: float
    latency_s: float
    spread: float
    memory_bytes: float
    watts: float | None = None

    @property
    def devices(self) -> int:
        """Devices of the instance."""
        return self.deployment.layout.devices

    @property
    def watt_hours_per_million(self) -> float | None:
        """Watt-hours for a million output tokens; None where the power is not known."""
        return None if self.watts is None else self.watts * self.devices / self.throughput / 3600 * 1e6
