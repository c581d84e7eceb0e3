"""The nouns of tuning: what runs, where, how it was configured, and what came out.

Everything here is frozen and true from birth: a constructor refuses what cannot be. Names are
canonical already (``ingest.door.records`` is the door); the originals are kept beside them.
"""

import math
from dataclasses import dataclass, field
from enum import StrEnum

from kg.nouns.situation import Situation
from kg.nouns.values import Settings, digest

LEAST_TIMED = 8
"""Values of a table from which its best can stand apart from all others."""
NO_RUN = 10.0
"""Ratio to the next best from which a best counts as a run that did nothing; a choice."""


class Kind(StrEnum):
    """The kind of evidence behind a number; it travels with the number from file to screen."""

    MEASURED = "measured"
    PUBLISHED = "published"
    WINNER = "winner"
    """Somebody's tuned choice, published without its time."""
    TARGET = "target"
    """Chosen for a stated goal; whether the goal was met is not said."""
    MODELLED = "modelled"
    CLAIMED = "claimed"


class Status(StrEnum):
    """The result of a run. Unknown is never zero, and a failure is data."""

    OK = "ok"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    FORBIDDEN = "forbidden"
    """Ruled out beforehand."""
    NOT_MEASURED = "not_measured"
    UNKNOWN = "unknown"

    @property
    def broke(self) -> bool:
        """True if the run was started and did not finish."""
        return self in {Status.FAILED, Status.TIMED_OUT, Status.OUT_OF_MEMORY}

    @property
    def cannot_run(self) -> bool:
        """True if the configuration is known not to run: it broke, or was ruled out."""
        return self.broke or self is Status.FORBIDDEN


class WorkloadKind(StrEnum):
    """The scale at which a workload is described."""

    KERNEL = "kernel"
    OPERATOR = "operator"
    TRAINING = "training"
    SERVING = "serving"
    HPC = "hpc"


class Better(StrEnum):
    """The direction in which a metric improves."""

    LOWER = "lower"
    HIGHER = "higher"


class Trust(StrEnum):
    """The trust in a source, given by whoever takes it in, never by the source itself."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    @property
    def weight(self) -> float:
        """Weight of the source's evidence, relative to a source of medium trust.

        A choice, not a measurement: distrust costs more than praise gains.
        """
        return {Trust.LOW: 0.25, Trust.MEDIUM: 1.0, Trust.HIGH: 2.0}[self]


Configuration = Settings
"""Parameter to value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The computation to run: a model or an operator, its shape, precision and phase.

    Attributes:
        kind: Kernel, operator, training, serving or HPC.
        operator: Operator, kernel or activity, such as ``"moe_layer"`` or ``"pretrain"``.
        model: Canonical model id, or the name as the source has it; None for a bare kernel.
        shape: Sizes, by the names their operator uses (``M``, ``hidden``, ``seq_len``).
        precision: Number format, such as ``"bfloat16"`` or ``"attn=bfloat16,kv_cache=fp8"``.
        traits: Further properties (routing distribution, block shape).
    """

    kind: WorkloadKind
    operator: str
    model: str | None = None
    shape: Settings = field(default_factory=Settings)
    precision: str | None = None
    traits: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        """Refuse a workload without a name."""
        if not self.operator:
            raise ValueError("a workload needs an operator")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The devices to run on: a node of the hardware tree and a count.

    Attributes:
        name: Id of the node in the hardware tree, or a slug of ``reported`` where the tree has none.
        reported: The name as the source has it.
        count: Number of devices; None if the source does not say.
        traits: Further properties (interconnect, host).
    """

    name: str
    reported: str = ""
    count: int | None = None
    traits: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        """Refuse hardware without a name or with no device."""
        if not self.name:
            raise ValueError("hardware needs a name")
        if self.count is not None and self.count < 1:
            raise ValueError(f"{self.count} devices")


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """The metric that decides, and its direction.

    Attributes:
        metric: Canonical name, such as ``"latency"``.
        better: Direction of improvement.
        unit: SI symbol; None where the question does not fix one.
    """

    metric: str
    better: Better
    unit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A bound that an answer must keep.

    Attributes:
        metric: Canonical name, such as ``"peak_memory"`` or ``"accuracy_loss"``.
        maximum: Largest value allowed, in ``unit``.
        unit: SI symbol, or ``"1"`` for a share.
    """

    metric: str
    maximum: float
    unit: str

    def __post_init__(self) -> None:
        """Refuse a limit that nothing can be compared with."""
        if not math.isfinite(self.maximum):
            raise ValueError(f"{self.metric}: {self.maximum} is not a limit")
        object.__setattr__(self, "maximum", float(self.maximum))  # 32 and 32.0 are one limit, with one id

    def __str__(self) -> str:
        """The limit as people write it: ``tpot <= 50 ms``."""
        value, unit = self.maximum, self.unit
        if unit == "s" and abs(value) < 1:
            value, unit = (value * 1e3, "ms") if abs(value) >= 1e-3 else (value * 1e6, "us")
        elif unit == "B" and abs(value) >= 1e9:
            value, unit = value / 1e9, "GB"
        elif unit == "1":
            value, unit = value * 100, "%"
        return f"{self.metric} <= {value:g} {unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A workload on hardware with objectives and limits: what a query and a search are about.

    Attributes:
        workload: The computation.
        hardware: The devices.
        objective: The metric to improve.
        limits: Bounds on other metrics.
        bottlenecks: Observed bottleneck ids and their share of the time, 0 to 1 (None: share unknown).
        current: The configuration in use; None if not given.
        software: Framework and compiler versions, by name.
        situation: Where its facts come from; no part of its identity.

    Example:
        >>> workload = Workload(kind=WorkloadKind.OPERATOR, operator="matmul", shape=Settings({"M": 4096}))
        >>> objective = Objective(metric="latency", better=Better.LOWER, unit="s")
        >>> one = Problem(workload=workload, hardware=Hardware(name="ascend-910b1"), objective=objective)
        >>> other = Problem(workload=workload, hardware=Hardware(name="h100"), objective=objective)
        >>> one.task_id == other.task_id, one.id == other.id
        (True, False)
    """

    workload: Workload
    hardware: Hardware
    objective: Objective
    limits: tuple[Limit, ...] = ()
    bottlenecks: Settings = field(default_factory=Settings)
    current: Configuration | None = None
    software: Settings = field(default_factory=Settings)
    situation: Situation = field(default_factory=Situation, compare=False, repr=False)
    _ids: tuple[str, str] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse shares outside 0 to 1."""
        for name, share in self.bottlenecks.items():
            if share is not None and not (isinstance(share, int | float) and 0 <= share <= 1):
                raise ValueError(f"bottleneck {name}: a share is between 0 and 1, not {share}")

    @property
    def task_id(self) -> str:
        """Identifier of the task: the same on every device."""
        return self._identified()[0]

    @property
    def id(self) -> str:
        """Identifier of the problem: task, hardware, and whatever else the problem fixes."""
        return self._identified()[1]

    def _identified(self) -> tuple[str, str]:
        """Return both identifiers, computed once: rows by the thousand need them."""
        if self._ids is None:
            task_id = self._task_id()
            object.__setattr__(self, "_ids", (task_id, self._problem_id(task_id)))
        return self._ids or ("", "")

    def _task_id(self) -> str:
        work = self.workload
        return digest(
            [
                work.kind,
                work.operator,
                work.model,
                work.shape.to_json(),
                work.precision,
                work.traits.to_json(),
            ],
            self.objective.metric,
        )

    def _problem_id(self, task_id: str) -> str:
        hardware = self.hardware
        extras = [
            [[limit.metric, limit.maximum, limit.unit] for limit in self.limits],
            self.bottlenecks.to_json(),
            None if self.current is None else self.current.to_json(),
            self.software.to_json(),
            self.objective.unit,  # tokens/s and samples/s never share a table
        ]
        return digest(task_id, [hardware.name, hardware.count, hardware.traits.to_json()], extras)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One measured quantity, or the failure to measure it.

    Attributes:
        metric: Canonical name, such as ``"step_time"``.
        unit: SI symbol, such as ``"s"``; None where there is no value.
        value: Mean over the repeats, in ``unit``; None unless ``status`` is ok.
        stdev: Sample standard deviation over the repeats, same unit; None if unknown.
        repeats: Number of measurements; None if unknown.
        status: Result of the run.
        reason: Reason of a failure in the source's words; empty without one.
        reported_unit: The unit of the source, where another than ``unit``.

    Example:
        >>> Measurement(metric="step_time", unit="s", value=0.41).value
        0.41
        >>> Measurement(metric="step_time", status=Status.OUT_OF_MEMORY).value is None
        True
    """

    metric: str
    unit: str | None = None
    value: float | None = None
    stdev: float | None = None
    repeats: int | None = None
    status: Status = Status.OK
    reason: str = ""
    reported_unit: str = ""

    def __post_init__(self) -> None:
        """Refuse what no instrument gives: a value without success, success without a value."""
        if (self.status is Status.OK) != (self.value is not None and math.isfinite(self.value)):
            raise ValueError(f"not a measurement: {self}")
        if self.stdev is not None and not (math.isfinite(self.stdev) and self.stdev >= 0):
            raise ValueError(f"{self.metric}: a spread of {self.stdev}")
        if self.repeats is not None and self.repeats < 1:
            raise ValueError(f"{self.metric}: {self.repeats} repeats")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The origin of a number, precise enough for a stranger to open it.

    Attributes:
        title: Name of the repository, document or table.
        url: Its address; empty if it cannot be opened.
        path: File inside it.
        commit: Version of it.
        licence: Terms of use as stated there.
        note: Anything a reader should know.
        trust: Trust in it here; no part of its identity.
    """

    title: str
    url: str = ""
    path: str = ""
    commit: str = ""
    licence: str = ""
    note: str = ""
    trust: Trust = Trust.MEDIUM
    _id: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse a source without a name."""
        if not self.title:
            raise ValueError("a source needs a title")

    @property
    def id(self) -> str:
        """Identifier: the same source gives the same one."""
        if not self._id:
            parts = [self.title, self.url, self.path, self.commit, self.licence, self.note]
            object.__setattr__(self, "_id", digest(parts))
        return self._id


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The value and configuration that a case is compared with.

    Attributes:
        value: The metric before, in the case's unit.
        configuration: Settings before; empty if the source does not say.
    """

    value: float
    configuration: Configuration = field(default_factory=Settings)

    def __post_init__(self) -> None:
        """Refuse a baseline that no ratio can be taken to."""
        if not (math.isfinite(self.value) and self.value > 0):
            raise ValueError(f"a baseline of {self.value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One configuration of one problem and what came out.

    Attributes:
        problem: Workload, hardware and objective.
        configuration: The settings.
        measurement: The result.
        kind: Kind of evidence.
        source: Origin of the numbers.
        baseline: The result it is compared with; None without one.
        strategy: Id of the strategy it is evidence for; empty if none.
        bottleneck: Id of the bottleneck that the strategy was meant for; empty if none.
        software: Framework and compiler versions, by name.

    Example:
        >>> problem = Problem(
        ...     workload=Workload(kind=WorkloadKind.TRAINING, operator="pretrain"),
        ...     hardware=Hardware(name="ascend-910b1", count=8),
        ...     objective=Objective(metric="step_time", better=Better.LOWER, unit="s"),
        ... )
        >>> case = Case(
        ...     problem=problem,
        ...     configuration=Settings({"recompute": "selective"}),
        ...     measurement=Measurement(metric="step_time", unit="s", value=0.8),
        ...     kind=Kind.MEASURED,
        ...     source=Source(title="my runs"),
        ...     baseline=Baseline(value=1.0),
        ... )
        >>> round(case.log_gain, 4)
        0.2231
    """

    problem: Problem
    configuration: Configuration
    measurement: Measurement
    kind: Kind
    source: Source
    baseline: Baseline | None = None
    strategy: str = ""
    bottleneck: str = ""
    software: Settings = field(default_factory=Settings)

    @property
    def log_gain(self) -> float | None:
        """Natural log of the improvement over the baseline; above zero is better. None if unknown."""
        value = self.measurement.value
        if self.baseline is None or value is None or value <= 0:
            return None
        gain = math.log(value / self.baseline.value)
        return gain if self.problem.objective.better is Better.HIGHER else -gain
